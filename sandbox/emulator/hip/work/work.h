/*
 * Work for a stream: what a launch, a copy, a fill or a host function asks. A stream does it at once; one that captures
 * keeps it as a node of a graph, which does it at every launch.
 */
#ifndef AMDKERNEL_HIP_WORK_H
#define AMDKERNEL_HIP_WORK_H

#include "hip/launch/launch.h"

typedef enum {
    WORK_EMPTY, WORK_KERNEL, WORK_COPY, WORK_FILL, WORK_HOST, WORK_CALLBACK, WORK_RECORD, WORK_WAIT, WORK_ALLOCATE,
    WORK_RELEASE, WORK_FREE, WORK_GRAPH, WORK_WAIT_VALUE, WORK_WRITE_VALUE, WORK_VALUES, WORK_COPY_RECT
} WorkKind;

typedef struct {
    Function *function;
    void *handle; /* as the program names it: a host stub or a hipFunction_t */
    LaunchShape shape;
    void **parameters, **extra;
    void *kept;   /* the copies of both that belong to the work; NULL while they are the caller's */
} KernelWork;

typedef struct {
    void *to;
    const void *from;
    size_t bytes;
    hipMemcpyKind kind;
} CopyWork;

/* `depth` slices of `height` rows of `width` elements. */
typedef struct {
    void *to;
    u32 value;
    size_t element_bytes, width, height, depth, pitch, slice_bytes;
} FillWork;

/* The same of bytes, from memory to memory. `parameters` is what the program gave, for it to read back. */
typedef struct {
    void *to;
    const void *from;
    size_t width, height, depth, to_pitch, to_slice_bytes, from_pitch, from_slice_bytes;
    hipMemcpyKind kind;
    hipMemcpy3DParms parameters;
} RectWork;

typedef struct {
    void *address;
    u64 value, mask;
    u32 bytes, condition; /* hipStreamWaitValueGte, … */
} ValueWork;

/* Waits for values and writes of them, one after the other. */
typedef struct {
    const hipStreamBatchMemOpParams *list; /* the work's own once it is kept */
    u32 count;
} ValuesWork;

typedef struct Work {
    WorkKind kind;
    union {
        KernelWork kernel;
        CopyWork copy;
        RectWork rect;
        FillWork fill;
        hipHostNodeParams host;
        struct { hipStreamCallback_t call; void *data; } callback;
        hipEvent_t event;
        hipMemAllocNodeParams allocate;
        void *released; /* WORK_RELEASE: a graph's own block stays; WORK_FREE */
        hipGraph_t graph;
        ValueWork value;
        ValuesWork values;
    };
} Work;

/* work.c: do it now, for the stream that was given; not for kernels and graphs, which take their time. */
hipError_t work_run(const Work *w, hipStream_t stream);
/* Whether the value that it waits for is there. */
bool work_value_is_reached(const ValueWork *w);

/* stream_values.c: the wait or the write that one of a list is; false for what has no effect here. */
bool value_work(const hipStreamBatchMemOpParams *p, Work *out);
hipError_t values_check(const hipStreamBatchMemOpParams *list, u32 count);

/* A copy that outlives the caller's arguments, and its end. */
hipError_t work_keep(const Work *w, Work *out);
void work_drop(Work *w);

/* stream.c: when its turn comes, or into the graph that the stream captures. */
hipError_t stream_submit(hipStream_t stream, const Work *w);
/* The same, and return when it has been done. */
hipError_t stream_submit_and_wait(hipStream_t stream, const Work *w);

/* copy.c, fill.c, rect.c */
hipError_t copy_run(const CopyWork *w);
hipError_t rect_run(const RectWork *w);
hipError_t fill_run(const FillWork *w);
/* What hipMemcpy3D asks; hipErrorNotSupported when it names an array. */
hipError_t rect_from_parameters(const hipMemcpy3DParms *p, RectWork *out);
/* What hipDrvMemcpy3D asks. */
hipError_t rect_from_driver(const HIP_MEMCPY3D *p, RectWork *out);
hipError_t fill_from_parameters(const hipMemsetParams *p, FillWork *out);

#endif
