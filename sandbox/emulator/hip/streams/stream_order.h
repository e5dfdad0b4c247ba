/* Which work of different streams is ordered: vector clocks, for the option `races`. */
#ifndef AMDKERNEL_HIP_STREAM_ORDER_H
#define AMDKERNEL_HIP_STREAM_ORDER_H

#include "hip/streams/stream_list.h"
#include "hip/work/work.h"
#include "checks/races/overlap.h"

/* A vector clock, of a stream or of an event's record: the work that comes before its next work, or before the event. */
typedef struct StreamOrder { u32 known[MOST_STREAMS]; } StreamOrder;

/* All with the lock of the streams. */
Turn *stream_order_submit(Stream *s, WorkKind kind); /* NULL: it is not followed */
StreamOrder *stream_order_record(Stream *s);
void stream_order_wait(Stream *s, const StreamOrder *event);
void stream_order_host_knows(Stream *s);
void stream_order_host_knows_event(const StreamOrder *event);
void stream_order_finish(Stream *s, WorkKind kind, Turn *t);
void stream_order_forget(Stream *s);

#endif
