/* hipMemcpy and its variants of one dimension. */
#include "hip/code/registered.h"
#include "hip/copies/copy.h"
#include "hip/memory/range.h"
#include "hip/runtime/answer.h"
#include "hip/runtime/fault.h"
#include "hip/streams/capture.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

#if HIP_VERSION_MAJOR >= 7
typedef const void *HostSource;
#else
typedef void *HostSource; /* the headers of HIP 6 lack the const */
#endif

/* Errors are returned now, though the copy may run later. A copy of pageable memory is done when the call returns, as in
 * AMD's runtime; a copy from device to device need not be, whatever the call. */
static hipError_t submit_copy(const CopyWork *w, bool wait, hipStream_t stream)
{
    const Work work = {.kind = WORK_COPY, .copy = *w};
    const Stream *s = stream_find(stream);
    hipError_t error = s ? fault_latched() : hipErrorInvalidHandle;
    if (error == hipSuccess && !s->capture && w->bytes)
        error = copy_check(w);
    if (error != hipSuccess || !w->bytes)
        return answer(error);
    bool within = w->kind == hipMemcpyDeviceToDevice || w->kind == hipMemcpyDeviceToDeviceNoCU;
    bool done = within ? false : wait || range_is_pageable(w->to) || range_is_pageable(w->from);
    return answer(done && !s->capture ? stream_submit_and_wait(stream, &work) : stream_submit(stream, &work));
}

static hipError_t copy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    const CopyWork w = {to, from, bytes, kind};
    hipError_t error = capture_forbids_copies();
    if (error != hipSuccess)
        return answer(error);
    error = submit_copy(&w, true, NULL);
    stream_call_returned(NULL);
    return error;
}

static hipError_t submit(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    const CopyWork w = {to, from, bytes, kind};
    return submit_copy(&w, false, stream);
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    return copy(to, from, bytes, kind);
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    return submit(to, from, bytes, kind, stream);
}

hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    const CopyWork w = {to, from, bytes, kind};
    return submit_copy(&w, true, stream);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, HostSource from, size_t bytes)
{
    return copy(to, from, bytes, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, HostSource from, size_t bytes, hipStream_t stream)
{
    return submit(to, from, bytes, hipMemcpyHostToDevice, stream);
}

hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes)
{
    return copy(to, from, bytes, hipMemcpyDeviceToHost);
}

hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)
{
    return submit(to, from, bytes, hipMemcpyDeviceToHost, stream);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes)
{
    return copy(to, from, bytes, hipMemcpyDeviceToDevice);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)
{
    return submit(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    if (!runtime_has_device(to_device) || !runtime_has_device(from_device))
        return answer(hipErrorInvalidDevice);
    return copy(to, from, bytes, hipMemcpyDeviceToDevice);
}

hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                              hipStream_t stream)
{
    if (!runtime_has_device(to_device) || !runtime_has_device(from_device))
        return answer(hipErrorInvalidDevice);
    return submit(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

/* ---- device variables ---- */

static hipError_t symbol_copy(const void *symbol, void *memory, size_t bytes, size_t offset, hipMemcpyKind kind,
                              bool to_symbol, CopyWork *out)
{
    void *address;
    hipError_t error = registered_range(symbol, bytes, offset, &address);
    if (error == hipSuccess && kind == (to_symbol ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice))
        error = hipErrorInvalidMemcpyDirection;
    *out = to_symbol ? (CopyWork){address, memory, bytes, kind} : (CopyWork){memory, address, bytes, kind};
    return error;
}

hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    CopyWork w;
    hipError_t error = symbol_copy(symbol, (void *)(uintptr_t)from, bytes, offset, kind, true, &w);
    return error != hipSuccess ? answer(error) : copy(w.to, w.from, bytes, kind);
}

hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    CopyWork w;
    hipError_t error = symbol_copy(symbol, to, bytes, offset, kind, false, &w);
    return error != hipSuccess ? answer(error) : copy(w.to, w.from, bytes, kind);
}

hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream)
{
    CopyWork w;
    hipError_t error = symbol_copy(symbol, (void *)(uintptr_t)from, bytes, offset, kind, true, &w);
    return error != hipSuccess ? answer(error) : submit(w.to, w.from, bytes, kind, stream);
}

hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream)
{
    CopyWork w;
    hipError_t error = symbol_copy(symbol, to, bytes, offset, kind, false, &w);
    return error != hipSuccess ? answer(error) : submit(w.to, w.from, bytes, kind, stream);
}
