#include "model/fabric.h"

#include <stdlib.h>

enum { AHEAD = 8 /* events, for the host's memory */, BUCKET_BITS = 22 };

/* Whether another L2 than number `n` has read the line; from now on this one has. */
static bool was_read_elsewhere(Fabric *f, u64 line, u32 n)
{
    if (!f->readers && !(f->readers = calloc(1u << BUCKET_BITS, 1)))
        return false;
    u8 *of = &f->readers[line * 0x9e3779b97f4a7c15ull >> (64 - BUCKET_BITS)], own = (u8)(1u << (n & 7));
    bool elsewhere = *of & ~own;
    *of |= own;
    return elsewhere;
}

static void take(Fabric *f, CacheLine line, u32 n, Traffic *traffic)
{
    if (!line.dirty)
        traffic->fabric_reads_again += was_read_elsewhere(f, line.line, n);
    fabric_take(f->caches, traffic, line);
}

void fabric_in_order(Fabric *f, L2Unit *unit, u32 count, Traffic *traffic)
{
    u64 *at = calloc(count, sizeof *at);
    while (at) {
        L2Unit *first = NULL;
        for (u32 n = 0; n < count; n++) {
            L2Unit *u = &unit[n];
            if (at[n] < u->count && (!first || u->event[at[n]].turn < first->event[at[first - unit]].turn))
                first = u;
        }
        if (!first)
            break;
        u64 *next = &at[first - unit], turn = first->event[*next].turn;
        for (; *next < first->count && first->event[*next].turn == turn; ++*next) {
            if (*next + AHEAD < first->count)
                cache_prefetch(&f->caches->mall, first->event[*next + AHEAD].line.line);
            take(f, first->event[*next].line, (u32)(first - unit), traffic);
        }
    }
    free(at);
    for (u32 n = 0; n < count; n++)
        unit[n].count = 0;
}
