/*
 * Neighbours share memory: rows, tiles with borders, and counters that the next workgroup reads. So whole blocks are
 * chosen: four workgroups in a row or, where the grid has rows, two by two. The seed is unknown to whoever writes a
 * kernel: a race could otherwise be put where no sample has it.
 */
#include "checks/races/sample.h"

enum { BLOCK = 4, SIDE = 2, FEWEST = 64 };

/* From a block's first workgroup to its last. */
static u64 extent_of(const Sample *s) { return (s->rows - 1) * s->row + s->in_row; }

Sample sample_create(const u32 *workgroups, u64 every, u64 seed)
{
    u64 total = (u64)workgroups[0] * workgroups[1] * workgroups[2], chosen = every > 1 ? total / every : total;
    if (chosen < FEWEST)
        chosen = FEWEST;
    bool square = workgroups[0] >= SIDE && total / workgroups[0] >= SIDE;
    Sample s = {
        .total = total, .row = workgroups[0], .in_row = square ? SIDE : BLOCK, .rows = square ? SIDE : 1, .seed = seed};
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

/* How long the parts of the grid are in which the blocks begin, but for two: all workgroups lie in some part. */
static u64 part_of(const Sample *s)
{
    u64 parts = s->blocks - 2;
    return (s->total - extent_of(s) + parts - 1) / parts;
}

/* Block 0 is at the start of the grid, block 1 at its end, and each other anywhere in a part of its own. */
static u64 start_of(const Sample *s, u64 k)
{
    u64 last = s->total - extent_of(s), part = part_of(s);
    if (k < 2)
        return k ? last : 0;
    u64 start = (k - 2) * part + mix(k ^ mix(s->seed)) % part;
    return start < last ? start : last;
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
    u64 extent = extent_of(s), part = part_of(s), end = workgroup / part + 3;
    for (u64 k = (workgroup > extent ? (workgroup - extent) / part : 0) + 2; k < end && k < s->blocks; k++)
        if (in_block(s, k, workgroup))
            return true;
    return in_block(s, 0, workgroup) || in_block(s, 1, workgroup);
}
