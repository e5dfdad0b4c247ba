/*
 * Device properties, in the structures of HIP 6 and HIP 5, and as attributes. All properties of images are 0.
 * Source of the rules: hipGetDeviceProperties of AMD's runtime (clr 6.4, hip_device.cpp).
 */
#include "hip/devices/device.h"
#include "hip/runtime/answer.h"
#include "hip/runtime/visible_devices.h"

#include <stdio.h>
#include <string.h>

/* Fields that HIP 5's structure and that of HIP 6 both have. */
#define COMMON_PROPERTIES(p)                                                                                          \
    do {                                                                                                              \
        const Device *d = device();                                                                                   \
        memset((p), 0, sizeof *(p));                                                                                  \
        snprintf((p)->name, sizeof(p)->name, "%s", d->name);                                                          \
        snprintf((p)->gcnArchName, sizeof(p)->gcnArchName, "%s", d->target);                                          \
        (p)->totalGlobalMem = runtime()->options.arena_bytes;                                                         \
        (p)->sharedMemPerBlock = (p)->maxSharedMemoryPerMultiProcessor = d->lds_bytes;                                \
        (p)->regsPerBlock = 65536;                                                                                    \
        (p)->warpSize = d->wave;                                                                                      \
        (p)->memPitch = (size_t)INT32_MAX;                                                                            \
        (p)->maxThreadsPerBlock = MAX_WORKGROUP;                                                                      \
        (p)->maxThreadsDim[0] = (p)->maxThreadsDim[1] = (p)->maxThreadsDim[2] = MAX_WORKGROUP;                        \
        (p)->maxGridSize[0] = INT32_MAX;                                                                              \
        (p)->maxGridSize[1] = (p)->maxGridSize[2] = 65536;                                                            \
        (p)->clockRate = d->clock_khz;                                                                                \
        (p)->memoryClockRate = d->memory_clock_khz;                                                                   \
        (p)->memoryBusWidth = d->memory_bus_bits;                                                                     \
        (p)->totalConstMem = INT32_MAX;                                                                               \
        (p)->major = d->major;                                                                                        \
        (p)->minor = d->minor;                                                                                        \
        (p)->multiProcessorCount = d->compute_units;                                                                  \
        (p)->l2CacheSize = d->l2_bytes;                                                                               \
        (p)->maxThreadsPerMultiProcessor = d->wave * d->simds * d->waves_per_simd;                                    \
        (p)->clockInstructionRate = 100000;                                                                           \
        (p)->pciBusID = visible_devices_bus(ordinal);                                                                 \
        (p)->cooperativeMultiDeviceLaunch = 1;                                                                        \
        (p)->cooperativeMultiDeviceUnmatchedFunc = (p)->cooperativeMultiDeviceUnmatchedGridDim = 1;                   \
        (p)->cooperativeMultiDeviceUnmatchedBlockDim = (p)->cooperativeMultiDeviceUnmatchedSharedMem = 1;             \
        (p)->concurrentKernels = (p)->canMapHostMemory = (p)->cooperativeLaunch = (p)->isLargeBar = 1;                \
        (p)->managedMemory = (p)->concurrentManagedAccess = (p)->directManagedMemAccessFromHost = 1;                  \
        (p)->textureAlignment = (p)->texturePitchAlignment = 256;                                                     \
        (p)->ECCEnabled = d->wave == 64;                                                                              \
        (p)->arch.hasGlobalInt32Atomics = (p)->arch.hasSharedInt32Atomics = 1;                                        \
        (p)->arch.hasGlobalFloatAtomicExch = (p)->arch.hasSharedFloatAtomicExch = 1;                                  \
        (p)->arch.hasFloatAtomicAdd = (p)->arch.hasGlobalInt64Atomics = (p)->arch.hasSharedInt64Atomics = 1;          \
        (p)->arch.hasDoubles = (p)->arch.hasWarpVote = (p)->arch.hasWarpBallot = (p)->arch.hasWarpShuffle = 1;        \
        (p)->arch.hasThreadFenceSystem = (p)->arch.has3dGrid = 1;                                                     \
    } while (0)

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int ordinal)
{
    if (!properties)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(ordinal))
        return answer(hipErrorInvalidDevice);
    COMMON_PROPERTIES(properties);
    hipUUID uuid = visible_devices_uuid(visible_devices_number(ordinal), device()->arch);
    memcpy(properties->uuid.bytes, uuid.bytes, sizeof properties->uuid.bytes);
    properties->unifiedAddressing = properties->asyncEngineCount = properties->hostNativeAtomicSupported = 1;
    properties->deviceOverlap = properties->streamPrioritiesSupported = properties->hostRegisterSupported = 1;
    properties->canUseHostPointerForRegisteredMem = properties->memoryPoolsSupported = 1;
    properties->sharedMemPerMultiprocessor = properties->sharedMemPerBlockOptin = device()->lds_bytes;
    properties->regsPerMultiprocessor = 65536 * 2;
    properties->maxBlocksPerMultiProcessor = device()->simds * device()->waves_per_simd;
    properties->globalL1CacheSupported = properties->localL1CacheSupported = 1;
    properties->persistingL2CacheMaxSize = device()->l2_bytes;
    properties->multiGpuBoardGroupID = ordinal;
    return hipSuccess;
}

static hipError_t legacy_properties(hipDeviceProp_tR0000 *properties, int ordinal)
{
    if (!properties)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(ordinal))
        return answer(hipErrorInvalidDevice);
    COMMON_PROPERTIES(properties);
    properties->gcnArch = device()->major * 100 + device()->minor * 10 + device()->stepping;
    return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000 *properties, int ordinal)
{
    return legacy_properties(properties, ordinal);
}

#undef hipGetDeviceProperties /* binaries of HIP 5 and older import this name for the old structure */
hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *properties, int ordinal)
{
    return legacy_properties(properties, ordinal);
}

/* The value that an attribute names; `p` is the HIP 6 structure. */
#define ATTRIBUTES(A)                                                                                                 \
    A(EccEnabled, p->ECCEnabled) A(AccessPolicyMaxWindowSize, 0) A(AsyncEngineCount, p->asyncEngineCount)             \
    A(CanMapHostMemory, 1) A(CanUseHostPointerForRegisteredMem, 1) A(ClockRate, p->clockRate) A(ComputeMode, 0)       \
    A(ComputePreemptionSupported, 0) A(ConcurrentKernels, 1) A(ConcurrentManagedAccess, 1)                            \
    A(CooperativeLaunch, p->cooperativeLaunch) A(CooperativeMultiDeviceLaunch, p->cooperativeMultiDeviceLaunch)       \
    A(DeviceOverlap, 1) A(DirectManagedMemAccessFromHost, 1) A(GlobalL1CacheSupported, 1)                             \
    A(HostNativeAtomicSupported, 1) A(Integrated, 0) A(IsMultiGpuBoard, 0) A(KernelExecTimeout, 0)                    \
    A(L2CacheSize, p->l2CacheSize) A(LocalL1CacheSupported, 1) A(LuidDeviceNodeMask, 0)                               \
    A(ComputeCapabilityMajor, p->major) A(ComputeCapabilityMinor, p->minor) A(ManagedMemory, 1)                       \
    A(MaxBlocksPerMultiProcessor, p->maxBlocksPerMultiProcessor) A(MaxBlockDimX, p->maxThreadsDim[0])                 \
    A(MaxBlockDimY, p->maxThreadsDim[1]) A(MaxBlockDimZ, p->maxThreadsDim[2]) A(MaxGridDimX, p->maxGridSize[0])       \
    A(MaxGridDimY, p->maxGridSize[1]) A(MaxGridDimZ, p->maxGridSize[2]) A(MaxSurface1D, 0) A(MaxSurface1DLayered, 0)  \
    A(MaxSurface2D, 0) A(MaxSurface2DLayered, 0) A(MaxSurface3D, 0) A(MaxSurfaceCubemap, 0)                           \
    A(MaxSurfaceCubemapLayered, 0) A(MaxTexture1DWidth, 0) A(MaxTexture1DLayered, 0) A(MaxTexture1DLinear, 0)         \
    A(MaxTexture1DMipmap, 0) A(MaxTexture2DWidth, 0) A(MaxTexture2DHeight, 0) A(MaxTexture2DGather, 0)                \
    A(MaxTexture2DLayered, 0) A(MaxTexture2DLinear, 0) A(MaxTexture2DMipmap, 0) A(MaxTexture3DWidth, 0)               \
    A(MaxTexture3DHeight, 0) A(MaxTexture3DDepth, 0) A(MaxTexture3DAlt, 0) A(MaxTextureCubemap, 0)                    \
    A(MaxTextureCubemapLayered, 0) A(MaxThreadsDim, p->maxThreadsDim[0])                                              \
    A(MaxThreadsPerBlock, p->maxThreadsPerBlock) A(MaxThreadsPerMultiProcessor, p->maxThreadsPerMultiProcessor)       \
    A(MaxPitch, p->memPitch) A(MemoryBusWidth, p->memoryBusWidth) A(MemoryClockRate, p->memoryClockRate)              \
    A(MultiGpuBoardGroupID, p->multiGpuBoardGroupID) A(MultiprocessorCount, p->multiProcessorCount)                   \
    A(PageableMemoryAccess, 0) A(PageableMemoryAccessUsesHostPageTables, 0) A(PciBusId, p->pciBusID)                  \
    A(PciDeviceId, p->pciDeviceID) A(PciDomainID, p->pciDomainID)                                                     \
    A(PersistingL2CacheMaxSize, p->persistingL2CacheMaxSize) A(MaxRegistersPerBlock, p->regsPerBlock)                 \
    A(MaxRegistersPerMultiprocessor, p->regsPerMultiprocessor) A(ReservedSharedMemPerBlock, 0)                        \
    A(MaxSharedMemoryPerBlock, p->sharedMemPerBlock) A(SharedMemPerBlockOptin, p->sharedMemPerBlockOptin)             \
    A(SharedMemPerMultiprocessor, p->sharedMemPerMultiprocessor) A(SingleToDoublePrecisionPerfRatio, 0)               \
    A(StreamPrioritiesSupported, 1) A(SurfaceAlignment, 0) A(TccDriver, 0) A(TextureAlignment, p->textureAlignment)   \
    A(TexturePitchAlignment, p->texturePitchAlignment) A(TotalConstantMemory, p->totalConstMem)                       \
    A(TotalGlobalMem, p->totalGlobalMem > INT32_MAX ? INT32_MAX : p->totalGlobalMem) A(UnifiedAddressing, 1)          \
    A(WarpSize, p->warpSize) A(MemoryPoolsSupported, 1) A(VirtualMemoryManagementSupported, 1)                        \
    A(HostRegisterSupported, 1) A(MemoryPoolSupportedHandleTypes, 0)                                                  \
    A(ClockInstructionRate, p->clockInstructionRate)                                                                  \
    A(MaxSharedMemoryPerMultiprocessor, p->maxSharedMemoryPerMultiProcessor)                                          \
    A(CooperativeMultiDeviceUnmatchedFunc, 1) A(CooperativeMultiDeviceUnmatchedGridDim, 1)                            \
    A(CooperativeMultiDeviceUnmatchedBlockDim, 1) A(CooperativeMultiDeviceUnmatchedSharedMem, 1) A(IsLargeBar, 1)     \
    A(AsicRevision, 0) A(CanUseStreamWaitValue, 1) A(ImageSupport, 0)                                                 \
    A(PhysicalMultiProcessorCount, p->multiProcessorCount) A(FineGrainSupport, 1)                                     \
    A(WallClockRate, p->clockInstructionRate)

static bool attribute(const hipDeviceProp_tR0600 *p, hipDeviceAttribute_t which, int *value)
{
    switch (which) {
#define A(name, expression) \
    case hipDeviceAttribute##name: *value = (int)(expression); return true;
        ATTRIBUTES(A)
#undef A
    default: return false;
    }
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t which, int ordinal)
{
    hipDeviceProp_tR0600 properties;
    if (!value)
        return answer(hipErrorInvalidValue);
    hipError_t error = hipGetDevicePropertiesR0600(&properties, ordinal);
    if (error != hipSuccess)
        return error;
    return answer(attribute(&properties, which, value) ? hipSuccess : hipErrorInvalidValue);
}
