/* The streams that programs name. */
#ifndef AMDKERNEL_HIP_STREAM_H
#define AMDKERNEL_HIP_STREAM_H

#include "hip/streams/stream_list.h"

/* NULL when there is no such stream. The null stream is that of the current device. */
Stream *stream_find(hipStream_t stream);
/* NULL: no memory. */
Stream *stream_create(unsigned flags, int priority);
/* Work that is already submitted is still done. */
void stream_destroy(Stream *s);
/* While it is set, the calling thread's null stream is its own hipStreamPerThread. */
void stream_null_is_own(bool own);
/* A call that is not asynchronous has returned: what comes later is ordered after the stream's work. */
void stream_call_returned(hipStream_t stream);

#endif
