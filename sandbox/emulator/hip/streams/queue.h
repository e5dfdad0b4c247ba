/*
 * Work in the order that streams give it.
 *
 * What can start at once is done by the thread that asks, as most programs wait for it next. A kernel that has not ended
 * after a grace period goes on in a thread of its stream, and so does all that comes behind it; host functions run there
 * in any case. So a kernel may wait for what the host does later, and what is quick costs no change of threads.
 */
#ifndef AMDKERNEL_HIP_QUEUE_H
#define AMDKERNEL_HIP_QUEUE_H

#include "hip/streams/stream.h"

/* What an event stands for: the moment at which a stream has come to its record. Shared by those who wait for it. */
typedef struct Mark Mark;
Mark *mark_new(void);
Mark *mark_share(Mark *m); /* NULL stays NULL */
void mark_drop(Mark *m);
bool mark_is_reached(const Mark *m);
void mark_wait(const Mark *m);
struct timespec mark_time(const Mark *m);

/* The null stream and a blocking one of the same device wait for each other's work. */
bool queue_are_ordered(const Stream *a, const Stream *b);

/* Do the work when its turn comes; `handle` is how the program names the stream. The work's error, when it was done
 * before the call returns; one of later is told by the next call that waits. `mark`, which the queue takes over, belongs
 * to WORK_RECORD, which reaches it, and to WORK_WAIT, which waits for it. `wait`: return when it is done. */
hipError_t queue_submit(Stream *s, hipStream_t handle, const Work *w, Mark *mark, bool wait);

/* Whether all that was submitted so far has been done. The null stream stands for the blocking streams of its device. */
bool queue_is_idle(Stream *s);
void queue_wait(Stream *s);
void queue_wait_device(int ordinal);
void queue_wait_all(void);

/* The lock of the queues and of the list of streams. Nothing is called with it that takes another one. */
void queue_lock(void);
void queue_unlock(void);

#endif
