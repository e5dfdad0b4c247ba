/*
 * Work in the order that streams give it.
 *
 * What can start at once is done by the thread that asks, as most programs wait for it next. A kernel that has not ended
 * after a grace period goes on in a thread of its stream, and so does all that comes behind it; host functions run there
 * in any case. So a kernel may wait for what the host does later, and what is quick costs no change of threads.
 */
#ifndef AMDKERNEL_HIP_QUEUE_H
#define AMDKERNEL_HIP_QUEUE_H

#include "hip/streams/mark.h"
#include "hip/work/work.h"

/* Do the work when its turn comes; `handle` is how the program names the stream. The work's error, when it was done
 * before the call returns; one of later is told by the next call that waits. `mark`, which the queue takes over, belongs
 * to WORK_RECORD, which reaches it, and to WORK_WAIT, which waits for it. `wait`: return when it is done. */
hipError_t queue_submit(Stream *s, hipStream_t handle, const Work *w, Mark *mark, bool wait);

/* Whether all that was submitted so far has been done. The null stream stands for the blocking streams of its device. */
bool queue_is_idle(Stream *s);
void queue_wait(Stream *s);
void queue_wait_device(int ordinal);
void queue_wait_all(void);
/* With the lock of the streams: frees a destroyed stream that has no work left. */
void queue_free_if_ended(Stream *s);

#endif
