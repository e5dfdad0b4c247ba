/* Contexts of the driver API: there is one device and one context, which is always current. */
#include "runtime.h"

#include <dlfcn.h>
#include <string.h>

static char the_context; /* its address is the handle */

static hipError_t give_context(hipCtx_t *context)
{
    if (!context)
        return answer(hipErrorInvalidValue);
    *context = (hipCtx_t)(void *)&the_context;
    return hipSuccess;
}

static hipError_t is_context(hipCtx_t context)
{
    return answer((void *)context == (void *)&the_context ? hipSuccess : hipErrorInvalidContext);
}

static hipError_t is_device(hipDevice_t device)
{
    return answer(device == 0 ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipCtxCreate(hipCtx_t *context, unsigned flags, hipDevice_t device)
{
    (void)flags;
    return device == 0 ? give_context(context) : is_device(device);
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device)
{
    return device == 0 ? give_context(context) : is_device(device);
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) { return is_device(device); }
hipError_t hipCtxGetCurrent(hipCtx_t *context) { return give_context(context); }
hipError_t hipCtxPopCurrent(hipCtx_t *context) { return context ? give_context(context) : hipSuccess; }
hipError_t hipCtxDestroy(hipCtx_t context) { return is_context(context); }
hipError_t hipCtxPushCurrent(hipCtx_t context) { return is_context(context); }
hipError_t hipCtxSetCurrent(hipCtx_t context) { return context ? is_context(context) : hipSuccess; }
hipError_t hipCtxSynchronize(void) { return hipDeviceSynchronize(); }

hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    return device ? hipDeviceGet(device, 0) : answer(hipErrorInvalidValue);
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active)
{
    if (!flags || !active)
        return answer(hipErrorInvalidValue);
    *flags = 0;
    *active = 1;
    return is_device(device);
}

/* The address of one of our functions; hipErrorInvalidValue for one that we do not have. */
hipError_t hipGetProcAddress(const char *name, void **address, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *result)
{
    (void)version, (void)flags;
    if (!name || !address)
        return answer(hipErrorInvalidValue);
    Dl_info self;
    void *library = dladdr((void *)&the_context, &self) ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    *address = library && !strncmp(name, "hip", 3) ? dlsym(library, name) : NULL;
    if (result)
        *result = *address ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return answer(*address ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipProfilerStart(void) { return hipSuccess; }
hipError_t hipProfilerStop(void) { return hipSuccess; }
