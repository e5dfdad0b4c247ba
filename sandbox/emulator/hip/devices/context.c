/* Contexts of the driver API: one for each device. Each thread has a stack of them, whose top is current. */
#include "hip/devices/device.h"
#include "hip/runtime/answer.h"

#include <dlfcn.h>
#include <string.h>

static char contexts[MAX_DEVICES]; /* their addresses are the handles */
static _Thread_local struct { int device[16]; int depth; } stack; /* below the current one */

static int device_of(hipCtx_t context)
{
    const char *c = (const char *)(void *)context;
    return c >= contexts && c < contexts + MAX_DEVICES && runtime_has_device((int)(c - contexts)) ? (int)(c - contexts) : -1;
}

static hipError_t give(hipCtx_t *context, int ordinal)
{
    if (!context)
        return answer(hipErrorInvalidValue);
    *context = (hipCtx_t)(void *)&contexts[ordinal];
    return hipSuccess;
}

static hipError_t check(hipCtx_t context) { return answer(device_of(context) >= 0 ? hipSuccess : hipErrorInvalidContext); }
static hipError_t check_device(hipDevice_t device) { return answer(runtime_has_device(device) ? hipSuccess : hipErrorInvalidDevice); }

hipError_t hipCtxPushCurrent(hipCtx_t context)
{
    enum { ROOM = sizeof stack.device / sizeof *stack.device };
    int ordinal = device_of(context);
    if (ordinal < 0 || stack.depth == ROOM)
        return answer(ordinal < 0 ? hipErrorInvalidContext : hipErrorOutOfMemory);
    stack.device[stack.depth++] = runtime_device();
    runtime_set_device(ordinal);
    return hipSuccess;
}

hipError_t hipCtxPopCurrent(hipCtx_t *context)
{
    if (context)
        give(context, runtime_device());
    if (stack.depth)
        runtime_set_device(stack.device[--stack.depth]);
    return hipSuccess;
}

hipError_t hipCtxCreate(hipCtx_t *context, unsigned flags, hipDevice_t device)
{
    (void)flags;
    if (!context || !runtime_has_device(device))
        return answer(context ? hipErrorInvalidDevice : hipErrorInvalidValue);
    give(context, device);
    return hipCtxPushCurrent(*context);
}

hipError_t hipCtxSetCurrent(hipCtx_t context)
{
    if (!context)
        return hipCtxPopCurrent(NULL);
    if (device_of(context) < 0)
        return answer(hipErrorInvalidContext);
    runtime_set_device(device_of(context));
    return hipSuccess;
}

hipError_t hipCtxDestroy(hipCtx_t context)
{
    if (device_of(context) == runtime_device())
        hipCtxPopCurrent(NULL);
    return check(context);
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device)
{
    return runtime_has_device(device) ? give(context, device) : check_device(device);
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) { return check_device(device); }
hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) { return check_device(device); }
hipError_t hipCtxGetCurrent(hipCtx_t *context) { return give(context, runtime_device()); }
hipError_t hipCtxSynchronize(void) { return hipDeviceSynchronize(); }
hipError_t hipCtxGetCacheConfig(hipFuncCache_t *config) { return hipDeviceGetCacheConfig(config); }
hipError_t hipCtxSetCacheConfig(hipFuncCache_t config) { return hipDeviceSetCacheConfig(config); }
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig *config) { return hipDeviceGetSharedMemConfig(config); }
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config) { return hipDeviceSetSharedMemConfig(config); }
hipError_t hipCtxGetFlags(unsigned *flags) { return hipGetDeviceFlags(flags); }

hipError_t hipCtxGetApiVersion(hipCtx_t context, int *version)
{
    if (!version)
        return answer(hipErrorInvalidValue);
    *version = 4; /* as in AMD's runtime */
    return context ? check(context) : hipSuccess;
}

hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    return device ? hipDeviceGet(device, runtime_device()) : answer(hipErrorInvalidValue);
}

hipError_t hipCtxEnablePeerAccess(hipCtx_t peer, unsigned flags)
{
    return device_of(peer) < 0 ? check(peer) : hipDeviceEnablePeerAccess(device_of(peer), flags);
}

hipError_t hipCtxDisablePeerAccess(hipCtx_t peer)
{
    return device_of(peer) < 0 ? check(peer) : hipDeviceDisablePeerAccess(device_of(peer));
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active)
{
    if (!flags || !active)
        return answer(hipErrorInvalidValue);
    *flags = 0;
    *active = 1;
    return check_device(device);
}

hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags)
{
    return runtime_has_device(device) && flags ? answer(hipErrorContextAlreadyInUse) : check_device(device);
}

/* The address of a function of this library; hipErrorInvalidValue if it has none of that name. */
hipError_t hipGetProcAddress(const char *name, void **address, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *result)
{
    (void)version, (void)flags;
    if (!name || !address)
        return answer(hipErrorInvalidValue);
    Dl_info self;
    void *library = dladdr((void *)contexts, &self) ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    *address = library && !strncmp(name, "hip", 3) ? dlsym(library, name) : NULL;
    if (result)
        *result = *address ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return answer(*address ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipProfilerStart(void) { return hipSuccess; }
hipError_t hipProfilerStop(void) { return hipSuccess; }
