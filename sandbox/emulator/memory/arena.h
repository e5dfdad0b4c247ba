/* The arena, its blocks, and what kernels may touch of them: what arena.c and unset.c share. */
#ifndef AMDKERNEL_MEMORY_ARENA_H
#define AMDKERNEL_MEMORY_ARENA_H

#include <pthread.h>
#include <string.h>

#include "memory/span.h"

enum { NAME_BYTES = 64 };

typedef struct { u64 address, bytes; char name[NAME_BYTES]; bool writable, input; } Region;

typedef struct {
    u64 address, bytes;
    u64 mapped_low, mapped_high; /* what hardware would have mapped around it, where that is asked for */
    bool mapped;
    bool live;
    bool adopted;             /* the host's: outside the arena */
    Region *regions;
    u32 region_count;
    u32 number;               /* 1 for the first that was handed out */
} Allocation;

/* What kernels may touch, by address. Never changed while kernels run: another one takes its place. */
typedef struct SpanList {
    struct SpanList *retired; /* one that was replaced before this one */
    u32 count, room;
    Span items[];
} SpanList;

typedef struct { u64 address; u8 bits; } PartialByte; /* and which of its bits are unset */

enum { MOST_VARIABLES = 16 };

/* Static memory that kernels may store to; of each byte: the run of the last store (0: none), and what it held at first. */
typedef struct { u64 low, high; u8 *run, *first; } Variables;

struct Memory {
    u8 *arena;
    u64 bytes, top;           /* offset of the first byte that was never handed out */
    u64 layout_seed;          /* of the first address and of the gaps; 0: not drawn */
    Allocation *blocks;       /* by address; released ones stay, to explain a use after free */
    u32 count, room;
    SpanList *spans;          /* or NULL: nothing may be touched */
    SpanList *retired;        /* which kernels that run may still look at */
    u32 within;               /* dispatches that run */
    u32 handed_out;
    u32 in_blocks;            /* how many were handed out with room to a whole block */
    PartialByte *partial;     /* see unset.c */
    u32 partial_count, partial_room;
    pthread_mutex_t partial_lock;
    u8 *unset;                /* a bit for each byte of the arena that nothing has written yet; NULL: not tracked */
    u8 *loaded, *stored;      /* likewise a bit for each byte that kernels have loaded, or stored; NULL: not tracked */
    Variables variables[MOST_VARIABLES]; /* see earlier_runs.c */
    u32 variables_count;
    u8 run;                   /* the number of the present run; 0: runs are not counted */
    pthread_mutex_t lock;
};

/* The span that holds address..address+bytes-1, or false. */
bool memory_span(const Memory *m, u64 address, u64 bytes, Span *out);

#endif
