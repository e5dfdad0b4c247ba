/*
 * Work for a stream: a launch, a copy, a fill, a host function and so on. A stream does it when its turn comes; a stream
 * that captures keeps it as a node of a graph, which does it at every launch.
 */
#ifndef AMDKERNEL_HIP_WORK_H
#define AMDKERNEL_HIP_WORK_H

#include "hip/launch/launch_shape.h"

typedef enum {
    WORK_EMPTY, WORK_KERNEL, WORK_COPY, WORK_FILL, WORK_HOST, WORK_CALLBACK, WORK_RECORD, WORK_WAIT, WORK_ALLOCATE,
    WORK_RELEASE, WORK_FREE, WORK_GRAPH, WORK_WAIT_VALUE, WORK_WRITE_VALUE, WORK_VALUES, WORK_COPY_2D_3D
} WorkKind;

typedef struct {
    Function *function;
    void *handle; /* the program's name for it: a host stub or a hipFunction_t */
    LaunchShape shape;
    void **parameters, **extra;
    void *kept;   /* our copies of both; NULL while they are the caller's */
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

/* The same of bytes, from memory to memory. `parameters` is what the program passed, which it may read back. */
typedef struct {
    void *to;
    const void *from;
    size_t width, height, depth, to_pitch, to_slice_bytes, from_pitch, from_slice_bytes;
    hipMemcpyKind kind;
    hipMemcpy3DParms parameters;
} Copy2D3DWork;

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
        Copy2D3DWork copy_2d_3d;
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

/* A copy that outlives the caller's arguments, and its end. A graph in it is copied by graphs/graph.c. */
hipError_t work_keep(const Work *w, Work *out);
void work_drop(Work *w);

#endif
