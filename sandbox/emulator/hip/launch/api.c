/* The calls that launch kernels: by host stub, by function handle, cooperatively, on several devices, with a list. */
#include "hip/code/registered.h"
#include "hip/launch/launch.h"
#include "hip/runtime/answer.h"
#include "hip/streams/queue.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

#include <stdlib.h>
#include <string.h>

static hipError_t submit(Function *f, void *handle, const LaunchShape *shape, void **parameters, void **extra,
                         hipStream_t stream)
{
    const Work w = {.kind = WORK_KERNEL,
                    .kernel = {.function = f, .handle = handle, .shape = *shape, .parameters = parameters, .extra = extra}};
    hipError_t error = launch_check(f, shape, parameters, extra);
    return error != hipSuccess ? error : stream_submit(stream, &w);
}

/* The function of a host stub on the device of the stream. As in AMD's runtime, a function handle is accepted too. */
static Function *function_for(const void *host, hipStream_t stream, hipError_t *error)
{
    const Stream *s = stream_find(stream);
    int before = runtime_device();
    *error = hipErrorInvalidHandle;
    if (!s)
        return NULL;
    runtime_set_device(s->device);
    Function *f = registered_function(host, error);
    runtime_set_device(before);
    if (f || !function_exists(host))
        return f;
    *error = hipSuccess;
    return (Function *)(uintptr_t)host;
}

static hipError_t launch_stub(const void *host, dim3 grid, dim3 block, void **parameters, size_t lds_bytes,
                              hipStream_t stream, bool cooperative)
{
    LaunchShape shape;
    hipError_t error;
    Function *f = function_for(host, stream, &error);
    if (f)
        error = launch_shape(grid, block, lds_bytes, &shape);
    if (error != hipSuccess)
        return answer(error);
    shape.cooperative = cooperative;
    return answer(submit(f, (void *)(uintptr_t)host, &shape, parameters, NULL, stream));
}

hipError_t hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **parameters, size_t lds_bytes,
                           hipStream_t stream)
{
    return launch_stub(host, grid, block, parameters, lds_bytes, stream, false);
}

hipError_t hipLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **parameters, unsigned lds_bytes,
                                      hipStream_t stream)
{
    return launch_stub(host, grid, block, parameters, lds_bytes, stream, true);
}

static hipError_t between_events(hipError_t error, hipEvent_t stop, hipStream_t stream)
{
    return error == hipSuccess && stop ? hipEventRecord(stop, stream) : error;
}

hipError_t hipExtLaunchKernel(const void *host, dim3 grid, dim3 block, void **parameters, size_t lds_bytes,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags)
{
    (void)flags;
    hipError_t error = start ? hipEventRecord(start, stream) : hipSuccess;
    if (error == hipSuccess)
        error = hipLaunchKernel(host, grid, block, parameters, lds_bytes, stream);
    return between_events(error, stop, stream);
}

/* ---- by handle ---- */

static hipError_t launch_handle(hipFunction_t handle, dim3 grid, dim3 block, unsigned lds_bytes, hipStream_t stream,
                                void **parameters, void **extra, bool cooperative)
{
    LaunchShape shape;
    if (!handle)
        return answer(hipErrorInvalidImage);
    if (!function_exists(handle))
        return answer(hipErrorInvalidResourceHandle);
    hipError_t error = launch_shape(grid, block, lds_bytes, &shape);
    shape.cooperative = cooperative;
    return answer(error != hipSuccess ? error
                                      : submit((Function *)handle, handle, &shape, parameters, extra, stream));
}

hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned lds_bytes, hipStream_t stream,
                                 void **parameters, void **extra)
{
    return launch_handle(f, (dim3){grid_x, grid_y, grid_z}, (dim3){block_x, block_y, block_z}, lds_bytes, stream,
                         parameters, extra, false);
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                                            hipStream_t stream, void **parameters)
{
    return launch_handle(f, (dim3){grid_x, grid_y, grid_z}, (dim3){block_x, block_y, block_z}, lds_bytes, stream,
                         parameters, NULL, true);
}

/* hip_ext.h: here the grid is given in work-items. */
hipError_t hipExtModuleLaunchKernel(hipFunction_t f, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y,
                                    u32 block_z, size_t lds_bytes, hipStream_t stream, void **parameters, void **extra,
                                    hipEvent_t start, hipEvent_t stop, u32 flags)
{
    (void)flags;
    LaunchShape shape = {.grid = {grid_x, grid_y, grid_z},
                         .block = {block_x, block_y, block_z},
                         .dynamic_lds_bytes = lds_bytes > UINT32_MAX ? UINT32_MAX : (u32)lds_bytes};
    if (!f || !function_exists(f))
        return answer(f ? hipErrorInvalidResourceHandle : hipErrorInvalidImage);
    hipError_t error = start ? hipEventRecord(start, stream) : hipSuccess;
    if (error == hipSuccess)
        error = submit((Function *)f, f, &shape, parameters, extra, stream);
    return answer(between_events(error, stop, stream));
}

/* Older names of it, and the mangled ones for headers that declare it without extern "C". */
hipError_t hipHccModuleLaunchKernel(hipFunction_t f, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y,
                                    u32 block_z, size_t lds_bytes, hipStream_t stream, void **parameters, void **extra,
                                    hipEvent_t start, hipEvent_t stop)
{
    return hipExtModuleLaunchKernel(f, grid_x, grid_y, grid_z, block_x, block_y, block_z, lds_bytes, stream, parameters,
                                    extra, start, stop, 0);
}

hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t f, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y, u32 block_z, size_t lds_bytes,
    hipStream_t stream, void **parameters, void **extra, hipEvent_t start, hipEvent_t stop, u32 flags)
    __attribute__((alias("hipExtModuleLaunchKernel")));

hipError_t _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
    hipFunction_t f, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y, u32 block_z, size_t lds_bytes,
    hipStream_t stream, void **parameters, void **extra, hipEvent_t start, hipEvent_t stop)
    __attribute__((alias("hipHccModuleLaunchKernel")));

/* ---- with a configuration (HIP 7; the headers of HIP 6 do not have these types) ---- */

typedef struct {
    dim3 grid, block;
    size_t lds_bytes;
    hipStream_t stream;
    const struct LaunchAttribute { hipLaunchAttributeID id; char padding[4]; union { char room[64]; int cooperative; } value; } *attributes;
    unsigned attribute_count;
} LaunchConfiguration;

static bool is_cooperative(const struct LaunchAttribute *attributes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (attributes[i].id == hipLaunchAttributeCooperative && attributes[i].value.cooperative)
            return true;
    return false;
}

hipError_t hipLaunchKernelExC(const LaunchConfiguration *c, const void *host, void **parameters);
hipError_t hipLaunchKernelExC(const LaunchConfiguration *c, const void *host, void **parameters)
{
    if (!c || !host || (c->attribute_count && !c->attributes))
        return answer(hipErrorInvalidConfiguration);
    return launch_stub(host, c->grid, c->block, parameters, c->lds_bytes, c->stream,
                       is_cooperative(c->attributes, c->attribute_count));
}

typedef struct {
    unsigned grid[3], block[3], lds_bytes;
    hipStream_t stream;
    const struct LaunchAttribute *attributes;
    unsigned attribute_count;
} DriverConfiguration;

hipError_t hipDrvLaunchKernelEx(const DriverConfiguration *c, hipFunction_t f, void **parameters, void **extra);
hipError_t hipDrvLaunchKernelEx(const DriverConfiguration *c, hipFunction_t f, void **parameters, void **extra)
{
    if (!c || (c->attribute_count && !c->attributes))
        return answer(hipErrorInvalidConfiguration);
    return launch_handle(f, (dim3){c->grid[0], c->grid[1], c->grid[2]}, (dim3){c->block[0], c->block[1], c->block[2]},
                         c->lds_bytes, c->stream, parameters, extra, is_cooperative(c->attributes, c->attribute_count));
}

/* ---- on several devices ---- */

/* Each grid is for its stream's device, one per device. */
static hipError_t add_grid(GridOfMany *grids, u32 n, Function *f, dim3 grid, dim3 block, size_t lds_bytes,
                           void **parameters)
{
    grids[n].function = f;
    grids[n].parameters = parameters;
    hipError_t error = launch_shape(grid, block, lds_bytes, &grids[n].shape);
    grids[n].shape.cooperative = true;
    return error;
}

hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *list, int count, unsigned flags)
{
    GridOfMany grids[MAX_DEVICES] = {0};
    (void)flags;
    if (!list || count <= 0 || count > runtime()->options.devices)
        return answer(hipErrorInvalidValue);
    for (int i = 0; i < count; i++) {
        hipError_t error;
        Function *f = function_for(list[i].func, list[i].stream, &error);
        if (f)
            error = add_grid(grids, (u32)i, f, list[i].gridDim, list[i].blockDim, list[i].sharedMem, list[i].args);
        if (error != hipSuccess)
            return answer(error);
    }
    for (int i = 0; i < count; i++)
        queue_wait(stream_find(list[i].stream));
    return answer(launch_together(grids, (u32)count));
}

hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams *list, unsigned count, unsigned flags)
{
    GridOfMany grids[MAX_DEVICES] = {0};
    (void)flags;
    if (!list || !count || count > (unsigned)runtime()->options.devices)
        return answer(hipErrorInvalidValue);
    for (u32 i = 0; i < count; i++) {
        const hipFunctionLaunchParams *p = &list[i];
        if (!function_exists(p->function))
            return answer(hipErrorInvalidResourceHandle);
        hipError_t error = add_grid(grids, i, (Function *)p->function, (dim3){p->gridDimX, p->gridDimY, p->gridDimZ},
                                    (dim3){p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes, p->kernelParams);
        if (error != hipSuccess)
            return answer(error);
    }
    for (u32 i = 0; i < count; i++)
        if (stream_find(list[i].hStream))
            queue_wait(stream_find(list[i].hStream));
    return answer(launch_together(grids, count));
}

/* Not cooperative: they may run one after the other. */
hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *list, int count, unsigned flags)
{
    (void)flags;
    hipError_t error = list && count > 0 && count <= runtime()->options.devices ? hipSuccess : hipErrorInvalidValue;
    for (int i = 0; i < count && error == hipSuccess; i++)
        error = hipLaunchKernel(list[i].func, list[i].gridDim, list[i].blockDim, list[i].args, list[i].sharedMem,
                                list[i].stream);
    return answer(error);
}

/* ---- the calls of `<<<>>>` before HIP 3: configure, set each argument, launch ---- */

static _Thread_local struct {
    dim3 grid, block;
    size_t lds_bytes, bytes;
    hipStream_t stream;
    u8 arguments[4096];
} call;

hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t lds_bytes, hipStream_t stream)
{
    call.grid = grid;
    call.block = block;
    call.lds_bytes = lds_bytes;
    call.stream = stream;
    call.bytes = 0;
    return hipSuccess;
}

hipError_t hipSetupArgument(const void *argument, size_t bytes, size_t offset)
{
    if (!argument || offset > sizeof call.arguments || bytes > sizeof call.arguments - offset)
        return answer(hipErrorInvalidValue);
    memcpy(call.arguments + offset, argument, bytes);
    if (offset + bytes > call.bytes)
        call.bytes = offset + bytes;
    return hipSuccess;
}

hipError_t hipLaunchByPtr(const void *host)
{
    LaunchShape shape;
    hipError_t error;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, call.arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &call.bytes,
                     HIP_LAUNCH_PARAM_END};
    Function *f = function_for(host, call.stream, &error);
    if (f)
        error = launch_shape(call.grid, call.block, call.lds_bytes, &shape);
    return answer(error != hipSuccess ? error
                                      : submit(f, (void *)(uintptr_t)host, &shape, NULL, extra, call.stream));
}
