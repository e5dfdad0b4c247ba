/*
 * Neighbours share memory: rows, tiles with borders, and counters that the next workgroup reads. So whole blocks are
 * chosen: four workgroups in a row or, where the grid has rows, two by two. The choice depends on the grid alone.
 */
#include "checks/races/sample.h"

enum { BLOCK = 4, SIDE = 2, FEWEST = 64 };

/* From a block's first workgroup to its last. */
static u64 extent_of(const Sample *s) { return (s->rows - 1) * s->row + s->in_row; }

Sample sample_create(const u32 *workgroups, u64 every)
{
    u64 total = (u64)workgroups[0] * workgroups[1] * workgroups[2], chosen = every > 1 ? total / every : total;
    if (chosen < FEWEST)
        chosen = FEWEST;
    bool square = workgroups[0] >= SIDE && total / workgroups[0] >= SIDE;
    Sample s = {.total = total, .row = workgroups[0], .in_row = square ? SIDE : BLOCK, .rows = square ? SIDE : 1};
    if (chosen + extent_of(&s) < total)
        s.blocks = chosen / BLOCK;
    return s;
}

static u64 mix(u64 x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* The first workgroup of block `k`. Blocks lie in equal parts of the grid: the first at its start, the last at its end. */
static u64 start_of(const Sample *s, u64 k)
{
    u64 extent = extent_of(s), last = s->total - extent, part = last / (s->blocks - 1), at = k * part;
    if (k == 0 || k == s->blocks - 1)
        return k ? last : 0;
    return at + (part > extent ? mix(k) % (part - extent) : 0);
}

static bool in_block(const Sample *s, u64 k, u64 workgroup)
{
    u64 start = start_of(s, k), off = workgroup - start;
    return workgroup >= start && off / s->row < s->rows && off % s->row < s->in_row;
}

bool sample_has(const Sample *s, u64 workgroup)
{
    if (!s->blocks)
        return true;
    u64 extent = extent_of(s), part = (s->total - extent) / (s->blocks - 1), end = workgroup / part + 1;
    for (u64 k = workgroup > extent ? (workgroup - extent) / part : 0; k < end && k < s->blocks; k++)
        if (in_block(s, k, workgroup))
            return true;
    return in_block(s, s->blocks - 1, workgroup);
}
