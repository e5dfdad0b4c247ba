/*
 * Caches behind the CUs: who holds which line, and what had to be fetched or written for it.
 * A line has 128 bytes and four sectors; a mask has a bit for each sector. The least recently used line is replaced first.
 */
#ifndef AMDKERNEL_CACHES_H
#define AMDKERNEL_CACHES_H

#include "model/shapes.h"

/* ---- one set-associative cache that writes back ---- */

typedef struct { u64 line : 56, valid : 4, dirty : 4; } CacheLine;
/* `mask` spares a division where the number of sets is a power of two; else it is 0. */
typedef struct { CacheLine *lines; u64 sets, mask; u32 ways; } Cache;

enum { ALL_SECTORS = 15 };

/* What the cache knew of the line; it is its youngest then. Of `written` sectors it keeps dirty copies, and of a line
 * that is read but not there it fetches all. `out` is the line that had to go, if it was dirty. */
CacheLine cache_touch(Cache *c, u64 line, u8 sectors, bool written, CacheLine *out);

/* What the cache knows of the line, without a use of it. */
CacheLine cache_peek(const Cache *c, u64 line);

/* The cache has the line no more. For a cache that is only read. */
void cache_forget(Cache *c, u64 line);

/* The host is to fetch what cache_touch() will want of a line soon: the model of a large cache is larger than its own. */
void cache_prefetch(const Cache *c, u64 line);

/* Calls `tell` for each dirty line and forgets all lines. */
void cache_empty(Cache *c, void (*tell)(void *context, const CacheLine *line), void *context);

/* ---- what stays from dispatch to dispatch: Caches of emulator.h ---- */

struct Caches {
    const GpuShape *shape;
    Cache *l2;      /* one for each XCD */
    Cache *gl1;     /* graphics L1, one for each shader array; NULL: there is none */
    Cache *scalar;  /* sL1D: one for two CUs */
    Cache mall;
    void *mapping;  /* of the lines of all of them */
    u64 lines;
    bool in_part;   /* a dispatch has filled one of SETS_OF sets alone: see cache_in_part() */
};

enum { SETS_OF = 8 };

/* Whether the sets of L2 and Infinity Cache belong together, so that a part of both can stand for all. */
bool caches_can_be_in_part(const Caches *c);

/* Whether the line lies in the one of SETS_OF sets of its L2, chosen as if by chance, that are modelled where only a part is.
 * With it goes its neighbour in a line of 256 bytes; and in the Infinity Cache all lines of its set. */
bool cache_in_part(const Cache *l2, u64 line);

/* How many scalar caches a GPU has. */
u32 caches_scalar_count(const GpuShape *s);

#endif
