/*
 * The `_spt` variants of calls, for programs built with -fgpu-default-stream=per-thread: the null stream is the thread's
 * own stream.
 */
#include "hip/streams/stream.h"

#define CALL(name, parameters, arguments)                                                                             \
    hipError_t name##_spt parameters;                                                                                 \
    hipError_t name##_spt parameters                                                                                  \
    {                                                                                                                 \
        stream_null_is_own(true);                                                                                     \
        hipError_t error = name arguments;                                                                            \
        stream_null_is_own(false);                                                                                    \
        return error;                                                                                                 \
    }

CALL(hipMemcpy, (void *to, const void *from, size_t bytes, hipMemcpyKind kind), (to, from, bytes, kind))
CALL(hipMemcpyToSymbol, (const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind),
     (symbol, from, bytes, offset, kind))
CALL(hipMemcpyFromSymbol, (void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind),
     (to, symbol, bytes, offset, kind))
CALL(hipMemcpy2D,
     (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind),
     (to, to_pitch, from, from_pitch, width, height, kind))
CALL(hipMemcpy3D, (const struct hipMemcpy3DParms *p), (p))
CALL(hipMemset, (void *to, int value, size_t bytes), (to, value, bytes))
CALL(hipMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height), (to, pitch, value, width, height))
CALL(hipMemset3D, (hipPitchedPtr to, int value, hipExtent extent), (to, value, extent))

CALL(hipMemcpyAsync, (void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream),
     (to, from, bytes, kind, stream))
CALL(hipMemcpyToSymbolAsync,
     (const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t stream),
     (symbol, from, bytes, offset, kind, stream))
CALL(hipMemcpyFromSymbolAsync,
     (void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t stream),
     (to, symbol, bytes, offset, kind, stream))
CALL(hipMemcpy2DAsync,
     (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind,
        hipStream_t stream),
     (to, to_pitch, from, from_pitch, width, height, kind, stream))
CALL(hipMemcpy3DAsync, (const hipMemcpy3DParms *p, hipStream_t stream), (p, stream))
CALL(hipMemsetAsync, (void *to, int value, size_t bytes, hipStream_t stream), (to, value, bytes, stream))
CALL(hipMemset2DAsync, (void *to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream),
     (to, pitch, value, width, height, stream))
CALL(hipMemset3DAsync, (hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream),
     (to, value, extent, stream))
CALL(hipLaunchKernel,
     (const void *host, dim3 grid, dim3 block, void **parameters, size_t lds_bytes, hipStream_t stream),
     (host, grid, block, parameters, lds_bytes, stream))
CALL(hipLaunchCooperativeKernel,
     (const void *host, dim3 grid, dim3 block, void **parameters, uint32_t lds_bytes, hipStream_t stream),
     (host, grid, block, parameters, lds_bytes, stream))
CALL(hipLaunchHostFunc, (hipStream_t stream, hipHostFn_t function, void *data), (stream, function, data))
CALL(hipStreamAddCallback, (hipStream_t stream, hipStreamCallback_t callback, void *data, unsigned flags),
     (stream, callback, data, flags))
CALL(hipStreamQuery, (hipStream_t stream), (stream))
CALL(hipStreamSynchronize, (hipStream_t stream), (stream))
CALL(hipStreamGetPriority, (hipStream_t stream, int *priority), (stream, priority))
CALL(hipStreamGetFlags, (hipStream_t stream, unsigned *flags), (stream, flags))
CALL(hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags), (stream, event, flags))
CALL(hipStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode), (stream, mode))
CALL(hipStreamEndCapture, (hipStream_t stream, hipGraph_t *graph), (stream, graph))
CALL(hipStreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus *status), (stream, status))
CALL(hipStreamGetCaptureInfo, (hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id),
     (stream, status, id))
CALL(hipStreamGetCaptureInfo_v2,
     (hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id, hipGraph_t *graph,
        const hipGraphNode_t **needs, size_t *count),
     (stream, status, id, graph, needs, count))
CALL(hipEventRecord, (hipEvent_t event, hipStream_t stream), (event, stream))
CALL(hipGraphLaunch, (hipGraphExec_t exec, hipStream_t stream), (exec, stream))
