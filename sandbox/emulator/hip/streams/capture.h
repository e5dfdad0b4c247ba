/* The capture of streams into graphs. */
#ifndef AMDKERNEL_HIP_CAPTURE_H
#define AMDKERNEL_HIP_CAPTURE_H

#include "hip/graphs/graph.h"
#include "hip/streams/stream_list.h"

typedef struct Capture {
    u64 id;
    Graph *graph;
    bool owns_graph;
    hipStreamCaptureMode mode;
    pthread_t thread;
    Stream *origin;
    bool broken;         /* an operation in it failed: the capture can only be ended */
} Capture;

hipError_t capture_add(Stream *s, const Work *w);
/* hipErrorStreamCaptureUnsupported where a capture forbids a call that would wait for the device or allocate. */
hipError_t capture_forbids(void);
hipError_t capture_forbids_stream(Stream *s);
/* hipErrorStreamCaptureImplicit where a call that copies at once would wait for a capture, which is then broken. */
hipError_t capture_forbids_copies(void);
/* The same for work of the null stream, which waits for blocking streams that capture. */
hipError_t capture_forbids_null(const Stream *s);

#endif
