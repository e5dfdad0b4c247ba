/* Streams and events as the other modules see them. */
#ifndef AMDKERNEL_HIP_STREAM_H
#define AMDKERNEL_HIP_STREAM_H

#include "graph.h"

typedef struct Stream {
    unsigned flags;
    int priority, device;
    u64 id;
    Capture *capture;    /* NULL: work is done at once */
    NodeList tail;       /* while it captures: the nodes that the next one depends on */
    struct Stream *next;
} Stream;

typedef struct Event {
    unsigned flags;
    bool recorded;
    struct timespec at;
    Capture *capture;    /* recorded in a capture: its nodes stand for it */
    NodeList nodes;
    struct Event *next;
} Event;

/* stream.c: NULL when there is no such stream. The null stream is that of the current device. */
Stream *stream_find(hipStream_t stream);
/* Every stream that exists, the default ones too. */
void stream_each(void (*visit)(Stream *s, void *context), void *context);

/* event.c */
Event *event_find(hipEvent_t event);
hipError_t event_record_now(hipEvent_t event);
void event_forget_capture(const Capture *c);

#endif
