/* hipMemcpy2D, hipMemcpy3D and their variants. */
#include "hip/copies/copy_2d_3d.h"
#include "hip/memory/range.h"
#include "hip/runtime/answer.h"
#include "hip/streams/capture.h"
#include "hip/streams/submit.h"

static hipError_t submit(const Copy2D3DWork *w, bool wait, hipStream_t stream)
{
    if (w->width > w->to_pitch || w->width > w->from_pitch)
        return answer(hipErrorInvalidPitchValue);
    if (w->width && w->height && w->depth && (!w->to || !w->from))
        return answer(hipErrorInvalidValue);
    const Work work = {.kind = WORK_COPY_2D_3D, .copy_2d_3d = *w};
    hipError_t error = wait ? capture_forbids_copies() : hipSuccess;
    if (error != hipSuccess)
        return answer(error);
    wait = wait || range_is_pageable(w->to) || range_is_pageable(w->from);
    return answer(wait ? stream_submit_and_wait(stream, &work) : stream_submit(stream, &work));
}

static Copy2D3DWork rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                     hipMemcpyKind kind)
{
    return (Copy2D3DWork){
        .to = to, .from = from, .width = width, .height = height, .depth = 1, .to_pitch = to_pitch,
        .from_pitch = from_pitch, .kind = kind,
        .parameters = {.srcPtr = {(void *)(uintptr_t)from, from_pitch, width, height},
                       .dstPtr = {to, to_pitch, width, height}, .extent = {width, height, 1}, .kind = kind},
    };
}

hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind)
{
    Copy2D3DWork w = rows(to, to_pitch, from, from_pitch, width, height, kind);
    return submit(&w, true, NULL);
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream)
{
    Copy2D3DWork w = rows(to, to_pitch, from, from_pitch, width, height, kind);
    return submit(&w, false, stream);
}

/* ---- hipMemcpy3D ---- */

static hipError_t copy_3d(const hipMemcpy3DParms *p, bool wait, hipStream_t stream)
{
    Copy2D3DWork w;
    hipError_t error = p ? copy_2d_3d_from_parameters(p, &w) : hipErrorInvalidValue;
    return error != hipSuccess ? answer(error) : submit(&w, wait, stream);
}

hipError_t hipMemcpy3D(const struct hipMemcpy3DParms *p) { return copy_3d(p, true, NULL); }
hipError_t hipMemcpy3DAsync(const struct hipMemcpy3DParms *p, hipStream_t stream) { return copy_3d(p, false, stream); }

static hipError_t param_2d(const hip_Memcpy2D *p, bool wait, hipStream_t stream)
{
    Copy2D3DWork w;
    hipError_t error = copy_2d_3d_from_rows(p, &w);
    return error == hipSuccess ? submit(&w, wait, stream) : answer(error);
}

hipError_t hipMemcpyParam2D(const hip_Memcpy2D *p) { return param_2d(p, true, NULL); }
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *p, hipStream_t stream) { return param_2d(p, false, stream); }
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *p) { return param_2d(p, true, NULL); }

static hipError_t driver_3d(const HIP_MEMCPY3D *p, bool wait, hipStream_t stream)
{
    Copy2D3DWork w;
    hipError_t error = copy_2d_3d_from_driver(p, &w);
    return error == hipSuccess ? submit(&w, wait, stream) : answer(error);
}

hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *p) { return driver_3d(p, true, NULL); }
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *p, hipStream_t stream) { return driver_3d(p, false, stream); }

/* ---- between devices (HIP 7): every device can access all memory, so the devices are only checked ---- */

typedef struct {
    hipArray_t from_array;
    hipPos from_position;
    hipPitchedPtr from;
    int from_device;
    hipArray_t to_array;
    hipPos to_position;
    hipPitchedPtr to;
    int to_device;
    hipExtent extent;
} PeerCopy;

static hipError_t copy_peer(const PeerCopy *p, bool wait, hipStream_t stream)
{
    if (!p)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(p->from_device) || !runtime_has_device(p->to_device))
        return answer(hipErrorInvalidDevice);
    const hipMemcpy3DParms same = {.srcArray = p->from_array, .srcPos = p->from_position, .srcPtr = p->from,
                                   .dstArray = p->to_array, .dstPos = p->to_position, .dstPtr = p->to,
                                   .extent = p->extent, .kind = hipMemcpyDeviceToDevice};
    return copy_3d(&same, wait, stream);
}

hipError_t hipMemcpy3DPeer(PeerCopy *p);
hipError_t hipMemcpy3DPeer(PeerCopy *p) { return copy_peer(p, true, NULL); }

hipError_t hipMemcpy3DPeerAsync(PeerCopy *p, hipStream_t stream);
hipError_t hipMemcpy3DPeerAsync(PeerCopy *p, hipStream_t stream) { return copy_peer(p, false, stream); }
