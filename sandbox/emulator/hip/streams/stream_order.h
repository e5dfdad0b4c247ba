/* What puts work of different streams in order, and what is told of work that nothing does (option `races`). */
#ifndef AMDKERNEL_HIP_ORDER_OF_WORK_H
#define AMDKERNEL_HIP_ORDER_OF_WORK_H

#include "hip/streams/work.h"
#include "checks/races/overlap.h"

struct Stream;

/* What work is called: a kernel by its name and code object, else what it does to memory. */
typedef struct WorkLabel {
    const char *name;
    CodeObject *object;   /* NULL: no kernel, or unloaded */
    u32 object_number;
    struct WorkLabel *next;
} WorkLabel;

/* The state of a stream, or of the record of an event: what comes before the next work, or before the event. */
typedef struct Ordered { u32 known[MOST_STREAMS]; } Ordered;

/* A stream besides the default one is there: from now on work is followed, if races are looked for. */
void order_begin(void);

/* These are called with the lock of the queues. */
Turn *order_submit(struct Stream *s, WorkKind kind); /* NULL: it is not followed */
Ordered *order_record(struct Stream *s);
void order_wait(struct Stream *s, const Ordered *event);
void order_host_knows(struct Stream *s);
void order_host_knows_event(const Ordered *event);
void order_finish(struct Stream *s, WorkKind kind, Turn *t);
void order_forget_stream(struct Stream *s);

/* A call that is not called asynchronous has returned; not with the lock. */
void order_call_returns(hipStream_t stream);

/* The work that the calling thread does now. */
void order_now(Turn *t);
/* For a kernel's dispatch; no turn: it is not followed. */
void order_dispatch(const Function *f, Dispatch *d);
/* The present work, a copy or such, touches memory: told if other work may do so at the same time. */
void order_touch(const char *what, const void *memory, u64 bytes, bool store);
void order_forget_memory(const void *memory, u64 bytes);
void order_forget_object(const CodeObject *c);

#endif
