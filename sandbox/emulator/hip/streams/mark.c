#include "hip/streams/mark.h"

#include "hip/clock/clock.h"

#include <stdlib.h>
#include <time.h>

Mark *mark_new(void)
{
    Mark *m = calloc(1, sizeof *m);
    return m ? mark_share(m) : NULL;
}

Mark *mark_share(Mark *m)
{
    if (m)
        __atomic_add_fetch(&m->holders, 1, __ATOMIC_RELAXED);
    return m;
}

void mark_drop(Mark *m)
{
    if (!m || __atomic_sub_fetch(&m->holders, 1, __ATOMIC_ACQ_REL))
        return;
    free(m->before);
    free(m);
}

bool mark_is_reached(const Mark *m)
{
    stream_list_lock();
    bool reached = m->reached;
    if (reached)
        stream_order_host_knows_event(m->before);
    stream_list_unlock();
    return reached;
}

void mark_wait(const Mark *m)
{
    stream_list_lock();
    while (!m->reached)
        stream_list_wait(NULL);
    stream_order_host_knows_event(m->before);
    stream_list_unlock();
}

double mark_ms(const Mark *m) { return m->at_ms; }

static double now_ms(void)
{
    struct timespec now;
    if (clock_is_simulated())
        return clock_event_ms();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void mark_reach(Mark *m)
{
    if (!m || m->reached)
        return;
    m->at_ms = now_ms();
    m->reached = true;
}
