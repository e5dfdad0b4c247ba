/* Giving work to a stream. */
#ifndef AMDKERNEL_HIP_SUBMIT_H
#define AMDKERNEL_HIP_SUBMIT_H

#include "hip/streams/stream_list.h"
#include "hip/work/work.h"

/* It is done when its turn comes, or becomes a node of the graph that the stream captures. The error of work that was
 * done before the call returns; a later one is returned by the next call that waits. */
hipError_t stream_submit(hipStream_t stream, const Work *w);
/* The same, and returns when the work is done. */
hipError_t stream_submit_and_wait(hipStream_t stream, const Work *w);
/* The same for a stream that does not capture; `handle` is the program's name for it. */
hipError_t stream_submit_uncaptured(Stream *s, hipStream_t handle, const Work *w, bool wait);

#endif
