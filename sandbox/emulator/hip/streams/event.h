/* Events: what streams record and wait for. */
#ifndef AMDKERNEL_HIP_EVENT_H
#define AMDKERNEL_HIP_EVENT_H

#include "hip/graphs/node_list.h"
#include "hip/streams/mark.h"

typedef struct Event {
    unsigned flags;
    Mark *mark;          /* of the last record; NULL: there was none */
    struct Capture *capture; /* set if recorded in a capture: `nodes` then stand for the event */
    NodeList nodes;
    struct Event *next;
} Event;

Event *event_create(unsigned flags); /* NULL: no memory */
bool event_destroy(hipEvent_t event);
/* NULL: there is no such event. */
Event *event_find(hipEvent_t event);
/* A new mark for the event, or the present one. The caller drops it. NULL: there is no such event, or no record. */
Mark *event_renew(hipEvent_t event);
Mark *event_mark(hipEvent_t event);
void event_forget_capture(const struct Capture *c);

#endif
