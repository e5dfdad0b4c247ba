/* Copies in two and three dimensions, between memory and memory: there are no arrays here. */
#include "hip/devices/device.h"
#include "hip/runtime/refuse.h"
#include "hip/streams/stream.h"

static const char no_arrays[] = "arrays need image instructions, which are not emulated";

hipError_t rect_run(const RectWork *w)
{
    hipError_t error = device_fault();
    for (size_t z = 0; z < w->depth && error == hipSuccess; z++)
        for (size_t y = 0; y < w->height && error == hipSuccess; y++) {
            const CopyWork row = {(char *)w->to + z * w->to_slice_bytes + y * w->to_pitch,
                                  (const char *)w->from + z * w->from_slice_bytes + y * w->from_pitch, w->width,
                                  w->kind};
            error = copy_run(&row);
        }
    return error;
}

static hipError_t rect(const RectWork *w, bool wait, hipStream_t stream)
{
    if (w->width > w->to_pitch || w->width > w->from_pitch)
        return answer(hipErrorInvalidPitchValue);
    if (w->width && w->height && w->depth && (!w->to || !w->from))
        return answer(hipErrorInvalidValue);
    const Work work = {.kind = WORK_COPY_RECT, .rect = *w};
    hipError_t error = wait ? capture_forbids_copies() : hipSuccess;
    if (error != hipSuccess)
        return answer(error);
    wait = wait || is_pageable(w->to) || is_pageable(w->from);
    return answer(wait ? stream_submit_and_wait(stream, &work) : stream_submit(stream, &work));
}

static RectWork rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                     hipMemcpyKind kind)
{
    return (RectWork){
        .to = to, .from = from, .width = width, .height = height, .depth = 1, .to_pitch = to_pitch,
        .from_pitch = from_pitch, .kind = kind,
        .parameters = {.srcPtr = {(void *)(uintptr_t)from, from_pitch, width, height},
                       .dstPtr = {to, to_pitch, width, height}, .extent = {width, height, 1}, .kind = kind},
    };
}

hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind)
{
    RectWork w = rows(to, to_pitch, from, from_pitch, width, height, kind);
    return rect(&w, true, NULL);
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream)
{
    RectWork w = rows(to, to_pitch, from, from_pitch, width, height, kind);
    return rect(&w, false, stream);
}

/* ---- hipMemcpy3D ---- */

static const char *at(hipPitchedPtr p, hipPos from)
{
    return (const char *)p.ptr + (from.z * p.ysize + from.y) * p.pitch + from.x;
}

hipError_t rect_from_parameters(const hipMemcpy3DParms *p, RectWork *out)
{
    if (p->srcArray || p->dstArray)
        return refuse("hipMemcpy3D", no_arrays);
    if (!p->srcPtr.ptr || !p->dstPtr.ptr)
        return hipErrorInvalidValue;
    *out = (RectWork){
        .to = (void *)(uintptr_t)at(p->dstPtr, p->dstPos),
        .from = at(p->srcPtr, p->srcPos),
        .width = p->extent.width, .height = p->extent.height, .depth = p->extent.depth,
        .to_pitch = p->dstPtr.pitch, .from_pitch = p->srcPtr.pitch,
        .to_slice_bytes = p->dstPtr.pitch * p->dstPtr.ysize, .from_slice_bytes = p->srcPtr.pitch * p->srcPtr.ysize,
        .kind = p->kind, .parameters = *p,
    };
    return out->width > out->to_pitch || out->width > out->from_pitch ? hipErrorInvalidPitchValue : hipSuccess;
}

static hipError_t copy_3d(const hipMemcpy3DParms *p, bool wait, hipStream_t stream)
{
    RectWork w;
    hipError_t error = p ? rect_from_parameters(p, &w) : hipErrorInvalidValue;
    return error != hipSuccess ? answer(error) : rect(&w, wait, stream);
}

hipError_t hipMemcpy3D(const struct hipMemcpy3DParms *p) { return copy_3d(p, true, NULL); }
hipError_t hipMemcpy3DAsync(const struct hipMemcpy3DParms *p, hipStream_t stream) { return copy_3d(p, false, stream); }

/* ---- the driver's structures ---- */

typedef struct {
    hipMemoryType type;
    void *host, *device;
    hipArray_t array;
    size_t x, y, z, pitch, height; /* height 0: that of the copy */
} Side;

static hipError_t side_address(const Side *s, size_t height, char **out, size_t *slice_bytes)
{
    if (s->type == hipMemoryTypeArray || s->array)
        return refuse("hipMemcpyParam", no_arrays);
    char *base = s->type == hipMemoryTypeHost ? s->host : s->device;
    if (!base && s->type == hipMemoryTypeUnified)
        base = s->host;
    *slice_bytes = s->pitch * (s->height ? s->height : height);
    *out = base + s->z * *slice_bytes + s->y * s->pitch + s->x;
    return base ? hipSuccess : hipErrorInvalidValue;
}

static hipError_t rect_of_sides(Side from, Side to, size_t width, size_t height, size_t depth, RectWork *out)
{
    RectWork w = {.width = width, .height = height, .depth = depth, .kind = hipMemcpyDefault};
    char *source = NULL, *target = NULL;
    from.pitch = from.pitch ? from.pitch : width;
    to.pitch = to.pitch ? to.pitch : width;
    hipError_t error = side_address(&from, height, &source, &w.from_slice_bytes);
    if (error == hipSuccess)
        error = side_address(&to, height, &target, &w.to_slice_bytes);
    if (error != hipSuccess)
        return error;
    w.from = source, w.to = target;
    w.from_pitch = from.pitch, w.to_pitch = to.pitch;
    w.parameters = (hipMemcpy3DParms){
        .srcPtr = {source, from.pitch, width, w.from_slice_bytes / from.pitch},
        .dstPtr = {target, to.pitch, width, w.to_slice_bytes / to.pitch},
        .extent = {width, height, depth}, .kind = hipMemcpyDefault,
    };
    *out = w;
    return hipSuccess;
}

static hipError_t param_2d(const hip_Memcpy2D *p, bool wait, hipStream_t stream)
{
    RectWork w;
    if (!p)
        return answer(hipErrorInvalidValue);
    Side from = {p->srcMemoryType, (void *)(uintptr_t)p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY,
                 0, p->srcPitch, 0};
    Side to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0, p->dstPitch, 0};
    hipError_t error = rect_of_sides(from, to, p->WidthInBytes, p->Height, 1, &w);
    return error == hipSuccess ? rect(&w, wait, stream) : answer(error);
}

hipError_t hipMemcpyParam2D(const hip_Memcpy2D *p) { return param_2d(p, true, NULL); }
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *p, hipStream_t stream) { return param_2d(p, false, stream); }
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *p) { return param_2d(p, true, NULL); }

hipError_t rect_from_driver(const HIP_MEMCPY3D *p, RectWork *out)
{
    if (!p)
        return hipErrorInvalidValue;
    Side from = {p->srcMemoryType, (void *)(uintptr_t)p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY,
                 p->srcZ, p->srcPitch, p->srcHeight};
    Side to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, p->dstZ, p->dstPitch,
               p->dstHeight};
    return rect_of_sides(from, to, p->WidthInBytes, p->Height, p->Depth, out);
}

static hipError_t driver_3d(const HIP_MEMCPY3D *p, bool wait, hipStream_t stream)
{
    RectWork w;
    hipError_t error = rect_from_driver(p, &w);
    return error == hipSuccess ? rect(&w, wait, stream) : answer(error);
}

hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *p) { return driver_3d(p, true, NULL); }
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *p, hipStream_t stream) { return driver_3d(p, false, stream); }

/* ---- between devices (HIP 7): every device reaches all memory, so which ones they are is only checked ---- */

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
    if (!is_device(p->from_device) || !is_device(p->to_device))
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
