/* Copies in two and three dimensions, between memory and memory: arrays are not supported. */
#include "hip/copies/copy_2d_3d.h"

#include "hip/copies/copy.h"
#include "hip/runtime/fault.h"
#include "hip/runtime/unsupported.h"

static const char no_arrays[] = "arrays need image instructions, which are not emulated";

hipError_t copy_2d_3d_run(const Copy2D3DWork *w)
{
    hipError_t error = fault_latched();
    for (size_t z = 0; z < w->depth && error == hipSuccess; z++)
        for (size_t y = 0; y < w->height && error == hipSuccess; y++) {
            const CopyWork row = {(char *)w->to + z * w->to_slice_bytes + y * w->to_pitch,
                                  (const char *)w->from + z * w->from_slice_bytes + y * w->from_pitch, w->width,
                                  w->kind};
            error = copy_run(&row);
        }
    return error;
}

static const char *at(hipPitchedPtr p, hipPos from)
{
    return (const char *)p.ptr + (from.z * p.ysize + from.y) * p.pitch + from.x;
}

hipError_t copy_2d_3d_from_parameters(const hipMemcpy3DParms *p, Copy2D3DWork *out)
{
    if (p->srcArray || p->dstArray)
        return unsupported("hipMemcpy3D", no_arrays);
    if (!p->srcPtr.ptr || !p->dstPtr.ptr)
        return hipErrorInvalidValue;
    *out = (Copy2D3DWork){
        .to = (void *)(uintptr_t)at(p->dstPtr, p->dstPos),
        .from = at(p->srcPtr, p->srcPos),
        .width = p->extent.width, .height = p->extent.height, .depth = p->extent.depth,
        .to_pitch = p->dstPtr.pitch, .from_pitch = p->srcPtr.pitch,
        .to_slice_bytes = p->dstPtr.pitch * p->dstPtr.ysize, .from_slice_bytes = p->srcPtr.pitch * p->srcPtr.ysize,
        .kind = p->kind, .parameters = *p,
    };
    return out->width > out->to_pitch || out->width > out->from_pitch ? hipErrorInvalidPitchValue : hipSuccess;
}

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
        return unsupported("hipMemcpyParam", no_arrays);
    char *base = s->type == hipMemoryTypeHost ? s->host : s->device;
    if (!base && s->type == hipMemoryTypeUnified)
        base = s->host;
    *slice_bytes = s->pitch * (s->height ? s->height : height);
    *out = base + s->z * *slice_bytes + s->y * s->pitch + s->x;
    return base ? hipSuccess : hipErrorInvalidValue;
}

static hipError_t from_sides(Side from, Side to, size_t width, size_t height, size_t depth, Copy2D3DWork *out)
{
    Copy2D3DWork w = {.width = width, .height = height, .depth = depth, .kind = hipMemcpyDefault};
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

hipError_t copy_2d_3d_from_driver(const HIP_MEMCPY3D *p, Copy2D3DWork *out)
{
    if (!p)
        return hipErrorInvalidValue;
    Side from = {p->srcMemoryType, (void *)(uintptr_t)p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY,
                 p->srcZ, p->srcPitch, p->srcHeight};
    Side to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, p->dstZ, p->dstPitch,
               p->dstHeight};
    return from_sides(from, to, p->WidthInBytes, p->Height, p->Depth, out);
}

hipError_t copy_2d_3d_from_rows(const hip_Memcpy2D *p, Copy2D3DWork *out)
{
    if (!p)
        return hipErrorInvalidValue;
    Side from = {p->srcMemoryType, (void *)(uintptr_t)p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY,
                 0, p->srcPitch, 0};
    Side to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0, p->dstPitch, 0};
    return from_sides(from, to, p->WidthInBytes, p->Height, 1, out);
}
