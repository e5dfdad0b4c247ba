#include "hip/streams/event.h"

#include <stdlib.h>

static Event *events;

Event *event_find(hipEvent_t event)
{
    runtime_lock();
    Event *e = events;
    while (e && (hipEvent_t)e != event)
        e = e->next;
    runtime_unlock();
    return e;
}

void event_forget_capture(const struct Capture *c)
{
    runtime_lock();
    for (Event *e = events; e; e = e->next)
        if (e->capture == c) {
            e->capture = NULL;
            node_list_clear(&e->nodes);
        }
    runtime_unlock();
}

Event *event_create(unsigned flags)
{
    Event *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->flags = flags;
    runtime_lock();
    e->next = events;
    events = e;
    runtime_unlock();
    return e;
}

bool event_destroy(hipEvent_t event)
{
    runtime_lock();
    Event **link = &events, *e;
    while (*link && (hipEvent_t)*link != event)
        link = &(*link)->next;
    if ((e = *link)) {
        *link = e->next;
        node_list_clear(&e->nodes);
        mark_drop(e->mark);
        free(e);
    }
    runtime_unlock();
    return e != NULL;
}

Mark *event_renew(hipEvent_t event)
{
    Mark *mark = NULL;
    runtime_lock();
    Event *e = event_find(event);
    if (e && (mark = mark_new())) {
        mark_drop(e->mark);
        e->mark = mark_share(mark);
        e->capture = NULL;
        node_list_clear(&e->nodes);
    }
    runtime_unlock();
    return mark;
}

Mark *event_mark(hipEvent_t event)
{
    runtime_lock();
    const Event *e = event_find(event);
    Mark *mark = e ? mark_share(e->mark) : NULL;
    runtime_unlock();
    return mark;
}
