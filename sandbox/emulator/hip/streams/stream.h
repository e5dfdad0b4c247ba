/* Streams and events as the other modules see them. */
#ifndef AMDKERNEL_HIP_STREAM_H
#define AMDKERNEL_HIP_STREAM_H

#include "hip/graphs/graph.h"

typedef struct Stream {
    unsigned flags;
    int priority, device;
    bool is_null, ended; /* ended: destroyed while it had work to do */
    u64 id;
    Attributes attributes;
    u32 *units, unit_words; /* the mask of compute units that it was made with; NULL: all */
    Capture *capture;    /* NULL: work is done when its turn comes */
    NodeList tail;       /* while it captures: the nodes that the next one depends on */
    struct Item *first, *last; /* what is to be done, see queue.c */
    bool tended;         /* a thread does it */
    struct Ordered *order; /* what comes before its next work, see order_of_work.h; NULL: not followed */
    u32 number;          /* there */
    struct Stream *next;
} Stream;

typedef struct Event {
    unsigned flags;
    struct Mark *mark;   /* of the last record; NULL: there was none */
    Capture *capture;    /* recorded in a capture: its nodes stand for it */
    NodeList nodes;
    struct Event *next;
} Event;

/* stream.c: NULL when there is no such stream. The null stream is that of the current device. */
Stream *stream_find(hipStream_t stream);
/* Every stream that exists, the default ones too. */
void stream_each(void (*visit)(Stream *s, void *context), void *context);
/* The same, and the end of a stream, for who holds the lock of the queues. */
void stream_each_locked(void (*visit)(Stream *s, void *context), void *context);
void stream_forget_if_ended(Stream *s);
/* While it is set the calling thread's null stream is its own one. */
void stream_null_is_own(bool own);

/* What stream_submit() does for a stream that does not capture. */
hipError_t stream_do(Stream *s, hipStream_t handle, const Work *w, bool wait);

/* event.c */
Event *event_find(hipEvent_t event);
/* A new mark for the event, or the one it has, to be dropped; NULL: there is no such event, or none was recorded. */
struct Mark *event_renew(hipEvent_t event);
struct Mark *event_mark(hipEvent_t event);
void event_forget_capture(const Capture *c);

#endif
