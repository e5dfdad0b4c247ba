/* The moment at which a stream reaches the record of an event. */
#ifndef AMDKERNEL_HIP_MARK_H
#define AMDKERNEL_HIP_MARK_H

#include "hip/streams/stream_order.h"

/* Shared by the event and by all work that waits for it. */
typedef struct Mark {
    u32 holders;
    bool reached;
    double at_ms;
    StreamOrder *before; /* what comes before it; NULL: not followed */
} Mark;

Mark *mark_new(void);
Mark *mark_share(Mark *m); /* NULL stays NULL */
void mark_drop(Mark *m);
void mark_reach(Mark *m); /* with the lock of the streams */
bool mark_is_reached(const Mark *m);
void mark_wait(const Mark *m);
double mark_ms(const Mark *m); /* of the wall clock, or of the simulated one */

#endif
