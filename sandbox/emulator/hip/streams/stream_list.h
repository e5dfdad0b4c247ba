/* The streams of the process, and the lock of all that belongs to them. */
#ifndef AMDKERNEL_HIP_STREAM_LIST_H
#define AMDKERNEL_HIP_STREAM_LIST_H

#include "hip/graphs/node_list.h"
#include "hip/work/attributes.h"

#include <time.h>

typedef struct Stream {
    unsigned flags;
    int priority, device;
    bool is_null, ended; /* ended: destroyed while it had work to do */
    u64 id;
    Attributes attributes;
    u32 *units, unit_words; /* the mask of compute units that it was created with; NULL: all */
    struct Capture *capture;    /* NULL: work is done when its turn comes */
    NodeList tail;       /* during a capture: the nodes that the next one depends on */
    struct Item *first, *last; /* its work, see queue.c */
    bool has_thread;     /* which does the work */
    struct StreamOrder *order; /* its vector clock, see stream_order.h; NULL: not followed */
    u32 number;          /* its component of vector clocks */
    struct Stream *next;
} Stream;

/* The lock of the streams, their work and their marks. While it is held no other lock is taken. */
void stream_list_lock(void);
void stream_list_unlock(void);
/* Waits, with the lock, until stream_list_changed() or `until` by CLOCK_MONOTONIC; NULL: no limit. False: timed out. */
bool stream_list_wait(const struct timespec *until);
void stream_list_changed(void);

/* With the lock: every stream, default ones too. */
void stream_list_each(void (*visit)(Stream *s, void *context), void *context);
void stream_list_add(Stream *s);
void stream_list_remove(Stream *s);
/* The default stream of a device, made at first use. */
Stream *stream_list_null(int ordinal);
/* The stream that a program's handle names, if it is not destroyed. */
Stream *stream_list_find(hipStream_t handle);
/* The null stream and a blocking one of the same device wait for each other's work. */
bool stream_list_are_ordered(const Stream *a, const Stream *b);

#endif
