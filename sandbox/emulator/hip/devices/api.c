/* The calls that list devices, choose one, read its limits, and connect devices with each other. */
#include "hip/devices/device.h"
#include "hip/launch/device_heap.h"
#include "hip/runtime/answer.h"
#include "hip/runtime/fault.h"
#include "hip/runtime/visible_devices.h"
#include "hip/streams/capture.h"
#include "hip/streams/queue.h"

#include <stdio.h>
#include <string.h>

/* The version of the headers that programs are built with. The driver has the same version, as on Linux. */
static const int hip_version = HIP_VERSION;

hipError_t hipInit(unsigned flags) { return answer(flags ? hipErrorInvalidValue : hipSuccess); }

static hipError_t give(int *out, int value)
{
    if (!out)
        return answer(hipErrorInvalidValue);
    *out = value;
    return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int *version) { return give(version, hip_version); }
hipError_t hipDriverGetVersion(int *version) { return give(version, hip_version); }
hipError_t hipGetDeviceCount(int *count)
{
    hipError_t error = give(count, runtime()->options.devices);
    return error == hipSuccess && !*count ? answer(hipErrorNoDevice) : error;
}

hipError_t hipGetDevice(int *ordinal) { return give(ordinal, runtime_device()); }

hipError_t hipSetDevice(int ordinal)
{
    if (!runtime_has_device(ordinal))
        return answer(runtime()->options.devices ? hipErrorInvalidDevice : hipErrorNoDevice);
    runtime_set_device(ordinal);
    return hipSuccess;
}

/* Every list is accepted: the devices are alike. */
hipError_t hipSetValidDevices(int *ordinals, int count)
{
    if (count < 0 || count > runtime()->options.devices || (count && !ordinals))
        return answer(hipErrorInvalidValue);
    for (int i = 0; i < count; i++)
        if (!runtime_has_device(ordinals[i]))
            return answer(hipErrorInvalidDevice);
    return hipSuccess;
}

hipError_t hipChooseDeviceR0600(int *ordinal, const hipDeviceProp_tR0600 *wanted)
{
    return wanted ? give(ordinal, 0) : answer(hipErrorInvalidValue);
}

hipError_t hipChooseDeviceR0000(int *ordinal, const hipDeviceProp_tR0000 *wanted)
{
    return wanted ? give(ordinal, 0) : answer(hipErrorInvalidValue);
}

#undef hipChooseDevice /* binaries of HIP 5 and older import this name for the old structure */
hipError_t hipChooseDevice(int *ordinal, const hipDeviceProp_tR0000 *wanted) { return hipChooseDeviceR0000(ordinal, wanted); }

hipError_t hipDeviceGet(hipDevice_t *handle, int ordinal)
{
    return runtime_has_device(ordinal) ? give(handle, ordinal) : answer(hipErrorInvalidDevice);
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t handle)
{
    if (!name || bytes <= 0)
        return answer(hipErrorInvalidValue);
    snprintf(name, (size_t)bytes, "%s", device()->name);
    return answer(runtime_has_device(handle) ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t handle)
{
    if (!uuid || !runtime_has_device(handle))
        return answer(uuid ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *uuid = visible_devices_uuid(visible_devices_number(handle), device()->arch);
    return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t handle)
{
    if (!bytes || !runtime_has_device(handle))
        return answer(bytes ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *bytes = runtime()->options.arena_bytes;
    return hipSuccess;
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t handle)
{
    if (!major || !minor || !runtime_has_device(handle))
        return answer(major && minor ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *major = device()->major;
    *minor = device()->minor;
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int ordinal)
{
    enum { ID_BYTES = sizeof "0000:00:00.0" };
    if (!id || bytes < ID_BYTES || !runtime_has_device(ordinal))
        return answer(runtime_has_device(ordinal) ? hipErrorInvalidValue : hipErrorInvalidDevice);
    snprintf(id, (size_t)bytes, "0000:%02x:00.0", visible_devices_bus(ordinal));
    return hipSuccess;
}

hipError_t hipDeviceGetByPCIBusId(int *ordinal, const char *id)
{
    unsigned domain, bus, slot, function;
    if (!ordinal || !id || sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
        return answer(hipErrorInvalidValue);
    for (int k = 0; !domain && !slot && !function && runtime_has_device(k); k++)
        if ((int)bus == visible_devices_bus(k))
            return give(ordinal, k);
    return answer(hipErrorInvalidValue);
}

/* ---- limits and modes: kept to be read, without effect ---- */

static size_t limits[] = {[hipLimitStackSize] = 1024, [hipLimitPrintfFifoSize] = 1 << 20,
                          [hipLimitMallocHeapSize] = DEVICE_HEAP_BYTES};

hipError_t hipDeviceGetLimit(size_t *value, enum hipLimit_t which)
{
    if (!value)
        return answer(hipErrorInvalidValue);
    if ((size_t)which >= sizeof limits / sizeof *limits)
        return answer(hipErrorUnsupportedLimit);
    *value = limits[which];
    return hipSuccess;
}

hipError_t hipDeviceSetLimit(enum hipLimit_t which, size_t value)
{
    if ((size_t)which >= sizeof limits / sizeof *limits)
        return answer(hipErrorUnsupportedLimit);
    if (which == hipLimitMallocHeapSize && value > DEVICE_HEAP_BYTES)
        return answer(hipErrorInvalidValue);
    limits[which] = value;
    return hipSuccess;
}

static unsigned flags[MAX_DEVICES];

hipError_t hipGetDeviceFlags(unsigned *out)
{
    if (!out)
        return answer(hipErrorInvalidValue);
    *out = flags[runtime_device()];
    return hipSuccess;
}

hipError_t hipSetDeviceFlags(unsigned wanted)
{
    enum { KNOWN = hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax };
    if (wanted & ~(unsigned)KNOWN)
        return answer(hipErrorInvalidValue);
    flags[runtime_device()] = wanted;
    return hipSuccess;
}

hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config)
{
    (void)config;
    return hipSuccess;
}

hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *config)
{
    if (!config)
        return answer(hipErrorInvalidValue);
    *config = hipFuncCachePreferNone;
    return hipSuccess;
}

hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config)
{
    (void)config;
    return hipSuccess;
}

hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *config)
{
    if (!config)
        return answer(hipErrorInvalidValue);
    *config = hipSharedMemBankSizeFourByte;
    return hipSuccess;
}

hipError_t hipDeviceSynchronize(void)
{
    hipError_t error = capture_forbids();
    if (error != hipSuccess)
        return answer(error);
    queue_wait_device(runtime_device());
    return answer(fault_latched());
}

/* Clears a fault. Unlike on a GPU, memory and modules stay. */
hipError_t hipDeviceReset(void)
{
    queue_wait_device(runtime_device());
    fault_clear();
    return hipSuccess;
}

/* ---- peers: every device can access all memory; what a program enables is kept only for the error codes ---- */

static bool enabled[MAX_DEVICES][MAX_DEVICES];

hipError_t hipDeviceCanAccessPeer(int *can, int ordinal, int peer)
{
    return runtime_has_device(ordinal) && runtime_has_device(peer) ? give(can, ordinal != peer) : answer(hipErrorInvalidDevice);
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned zero)
{
    int me = runtime_device();
    if (zero)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(peer) || peer == me)
        return answer(hipErrorInvalidDevice);
    if (enabled[me][peer])
        return answer(hipErrorPeerAccessAlreadyEnabled);
    enabled[me][peer] = true;
    return hipSuccess;
}

hipError_t hipDeviceDisablePeerAccess(int peer)
{
    int me = runtime_device();
    if (!runtime_has_device(peer) || peer == me)
        return answer(hipErrorInvalidDevice);
    if (!enabled[me][peer])
        return answer(hipErrorPeerAccessNotEnabled);
    enabled[me][peer] = false;
    return hipSuccess;
}

hipError_t hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr which, int from, int to)
{
    if (!runtime_has_device(from) || !runtime_has_device(to) || from == to)
        return answer(hipErrorInvalidDevice);
    switch (which) {
    case hipDevP2PAttrPerformanceRank: return give(value, 0);
    case hipDevP2PAttrAccessSupported: case hipDevP2PAttrNativeAtomicSupported: return give(value, 1);
    case hipDevP2PAttrHipArrayAccessSupported: return give(value, 0);
    default: return answer(hipErrorInvalidValue);
    }
}

hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, u32 *link, u32 *hops)
{
    enum { XGMI = 4 }; /* HSA_AMD_LINK_INFO_TYPE_XGMI */
    if (!link || !hops || !runtime_has_device(from) || !runtime_has_device(to) || from == to)
        return answer(link && hops ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *link = XGMI;
    *hops = 1;
    return hipSuccess;
}
