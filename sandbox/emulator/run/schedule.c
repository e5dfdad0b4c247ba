/* Pseudo-random orders that a seed makes again: splitmix64, and a permutation by four Feistel rounds. */
#include "run/schedule.h"

u64 schedule_mix(u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

Schedule schedule_create(u64 seed, u64 workgroups) { return (Schedule){seed, schedule_mix(seed), workgroups}; }

/* One step within the smallest power of four that holds all. */
static u64 permute(const Schedule *s, u64 x)
{
    u32 half = 1;
    while (half < 31 && 1ull << 2 * half < s->total)
        half++;
    u64 mask = (1ull << half) - 1, left = x >> half, right = x & mask;
    for (u64 round = 0; round < 4; round++) {
        u64 next = left ^ (schedule_mix(right ^ schedule_mix(s->seed + round)) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

/* Shuffled within windows: as on hardware, a workgroup may count on those far before it to have begun. */
u64 schedule_workgroup(const Schedule *s, u64 turn)
{
    enum { WINDOW = 64 };
    if (!s->seed)
        return turn;
    u64 first = turn - turn % WINDOW, left = s->total - first, x = turn - first;
    Schedule window = {.seed = schedule_mix(s->seed + first), .total = left < WINDOW ? left : WINDOW};
    do
        x = permute(&window, x);
    while (x >= window.total);
    return first + x;
}

u32 schedule_draw(Schedule *s, u32 below)
{
    s->state = schedule_mix(s->state);
    return (u32)((s->state >> 32) * below >> 32);
}

/* In a third of the workgroups waves never come far alone: what one does wrong between two signals is seen at the first. */
u64 schedule_slice(Schedule *s, u64 workgroup)
{
    static const u32 powers[] = {3, 7, 13};
    return 1ull << schedule_draw(s, powers[(workgroup + s->seed - 1) % 3]);
}
