/*
 * The queue of a stream: which work runs next, and in which thread.
 *
 * Work that can start at once runs in the thread that submits it, because most programs wait for it next. A kernel that
 * has not ended after a grace period continues in a thread of its stream, and so does all work behind it; host functions
 * always run there. So a kernel may wait for what the host does later, and quick work costs no change of threads.
 */
#ifndef AMDKERNEL_HIP_QUEUE_H
#define AMDKERNEL_HIP_QUEUE_H

#include "hip/streams/mark.h"
#include "hip/work/work.h"

/* Does the work when its turn comes; `handle` is the program's name for the stream. Returns the work's error if it was
 * done before the call returns; a later error is returned by the next call that waits. The queue owns `mark`, which
 * WORK_RECORD reaches and WORK_WAIT waits for. `wait`: return when the work is done. */
hipError_t queue_submit(Stream *s, hipStream_t handle, const Work *w, Mark *mark, bool wait);

/* Whether all work submitted so far is done. The null stream stands for the blocking streams of its device. */
bool queue_is_idle(Stream *s);
void queue_wait(Stream *s);
void queue_wait_device(int ordinal);
void queue_wait_all(void);
/* With the lock of the streams: frees a destroyed stream that has no work left. */
void queue_free_if_ended(Stream *s);

#endif
