/*
 * A wave that loads, computes and stores loses what others store in between. In most orders nothing does: so in shuffled
 * ones a wave often waits behind an atomic or volatile load, for some instructions of others or until other workgroups
 * have ended.
 */
#include "run/meetings.h"

static u64 power_below(Schedule *s, u32 powers) { return 1ull << schedule_draw(s, powers); }

void meetings_hold(Schedule *s, Progress now, Wave *w)
{
    enum { FIRST_MEETINGS = 16, EVERY = 16, WAYS = 4, STEP_POWERS = 17, LONGEST = 1 << 17 };
    u32 group_powers = 64 - (u32)__builtin_clzll(now.total);
    if (w->meetings++ >= FIRST_MEETINGS && schedule_draw(s, EVERY))
        return;
    u32 way = schedule_draw(s, WAYS);
    if (way == 0) {
        u64 next = now.next + power_below(s, group_powers);
        w->held.next = next < now.total ? next : now.total;
        w->held.steps = now.steps + LONGEST; /* those that run may wait for this one */
    } else if (way < WAYS - 1) {
        w->held.next = ~0ull;
        w->held.steps = now.steps + power_below(s, STEP_POWERS);
    }
}

bool meetings_can_run(Progress now, const Wave *w)
{
    return !w->ended && !w->at_barrier && (now.steps >= w->held.steps || now.next >= w->held.next);
}

bool meetings_any_can_run(Progress now, const Group *g)
{
    for (u32 n = 0; n < g->wave_count; n++)
        if (meetings_can_run(now, &g->waves[n]))
            return true;
    return false;
}

void meetings_release(Group *g)
{
    for (u32 n = 0; n < g->wave_count; n++)
        g->waves[n].held.steps = g->waves[n].held.next = 0;
}
