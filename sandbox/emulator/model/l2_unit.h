/* One L2 and the caches before it: what it does with a request, and what it asks of the Infinity Cache for it. */
#ifndef AMDKERNEL_MODEL_L2_UNIT_H
#define AMDKERNEL_MODEL_L2_UNIT_H

#include "model/caches.h"
#include "model/trace.h"

enum {
    CHANNELS = 16,             /* of an L2, which take turns of 256 bytes; a real one mixes in higher bits of the address */
    ATOMIC_BUCKETS = 1 << 16,  /* lines that share a bucket count as one: never fewer than there are */
};

/* In lines, requests of 64 and 32 bytes, or bytes. */
typedef struct {
    u64 reads, writes, atomics, hits, misses;
    u64 fabric_reads, fabric_reads_again, fabric_writes_64, fabric_writes_32;
    u64 mall_hits, mall_misses, memory_bytes_read, memory_bytes_written;
    u64 scalar_hits, scalar_misses, gl1_hits, gl1_misses;
    u64 left_out, read_misses, written; /* of misses, those of reads and atomics; of writes and atomics, those that were modelled */
} Traffic;

/* Requests of the window to each channel, and those that the busiest channel had in the windows before. */
typedef struct { u32 channel[CHANNELS], count; u64 busiest; } Channels;
/* `left_out`: requests to lines that are not modelled (cache_in_part()). */
typedef struct { u64 hits, misses, left_out; bool writes; } HitsOf;
/* A line that the L2 reads, or writes where some of it is dirty; in the turn of a workgroup. */
typedef struct { u64 turn; CacheLine line; } FabricEvent;

typedef struct {
    Caches *caches;
    Cache *l2;
    Traffic traffic;
    Channels channels;
    u32 *atomics_on;         /* requests, by bucket of the line; NULL until there is one */
    HitsOf *by_instruction;  /* NULL: not asked for */
    bool keeps;              /* what it asks of the Infinity Cache is kept in `event`, for its turn among all L2s */
    u64 turn;
    FabricEvent *event;
    u64 count, room;
} L2Unit;

/* Where the requests of a workgroup go first. */
typedef struct { Cache *gl1, *scalar; } Path;

/* Whether units continue without the Infinity Cache's answers. */
bool l2_unit_alone(const Caches *c);
void l2_unit_take(L2Unit *u, const Path *p, Request r);
/* The Infinity Cache reads or writes a line. */
void fabric_take(Caches *c, Traffic *t, CacheLine line);
/* A dirty line leaves the L2 `unit`. */
void l2_unit_evict(void *unit, const CacheLine *line);
/* Requests that waited for the busiest channel of each window, all together. */
u64 l2_unit_busiest_channel(L2Unit *u);

#endif
