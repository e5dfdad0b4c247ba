/* Calls that the headers of HIP 7 declare and those of HIP 6 do not: other names of calls that exist. */
#include "hip/runtime/runtime.h"

hipError_t hipModuleLoadFatBinary(hipModule_t *module, const void *binary);
hipError_t hipModuleLoadFatBinary(hipModule_t *module, const void *binary) { return hipModuleLoadData(module, binary); }

hipError_t hipMemAdvise_v2(const void *pointer, size_t bytes, hipMemoryAdvise advice, hipMemLocation location);
hipError_t hipMemAdvise_v2(const void *pointer, size_t bytes, hipMemoryAdvise advice, hipMemLocation location)
{
    return hipMemAdvise(pointer, bytes, advice, location.type == hipMemLocationTypeDevice ? location.id : hipCpuDeviceId);
}

hipError_t hipMemPrefetchAsync_v2(const void *pointer, size_t bytes, hipMemLocation location, unsigned flags,
                                  hipStream_t stream);
hipError_t hipMemPrefetchAsync_v2(const void *pointer, size_t bytes, hipMemLocation location, unsigned flags,
                                  hipStream_t stream)
{
    (void)flags;
    int place = location.type == hipMemLocationTypeDevice ? location.id : hipCpuDeviceId;
    return hipMemPrefetchAsync(pointer, bytes, place, stream);
}

hipError_t hipGetDriverEntryPoint(const char *name, void **address, unsigned long long flags,
                                  hipDriverProcAddressQueryResult *result);
hipError_t hipGetDriverEntryPoint(const char *name, void **address, unsigned long long flags,
                                  hipDriverProcAddressQueryResult *result)
{
    return hipGetProcAddress(name, address, 0, flags, result);
}

hipError_t hipGetDriverEntryPoint_spt(const char *name, void **address, unsigned long long flags,
                                      hipDriverProcAddressQueryResult *result);
hipError_t hipGetDriverEntryPoint_spt(const char *name, void **address, unsigned long long flags,
                                      hipDriverProcAddressQueryResult *result)
{
    return hipGetDriverEntryPoint(name, address, flags, result);
}
