/*
 * The one device of the process. Memory size is the arena's: what the product page of the card says would be a lie.
 * Source of the figures: AMD product pages and "Hardware specifications" of the ROCm documentation; the clocks and the
 * bus are as hipGetDeviceProperties gives them (kHz, bits).
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Device devices[] = {
    /* arch, target, name, version, CUs, wave, SIMDs, waves, VGPRs, granule, LDS, clock, memory clock, bus, L2 */
    {"gfx90a", "gfx90a:sramecc+:xnack-", "AMD Instinct MI250X (emulated)", 9, 0, 10, 110, 64, 4, 8, 512, 8, 65536,
     1700000, 1600000, 4096, 8 << 20},
    {"gfx942", "gfx942:sramecc+:xnack-", "AMD Instinct MI300X (emulated)", 9, 4, 2, 304, 64, 4, 8, 512, 8, 65536,
     2100000, 1300000, 8192, 4 << 20},
    {"gfx950", "gfx950:sramecc+:xnack-", "AMD Instinct MI355X (emulated)", 9, 5, 0, 256, 64, 4, 8, 512, 8, 163840,
     2400000, 2000000, 8192, 4 << 20},
    {"gfx1100", "gfx1100", "AMD Radeon RX 7900 XTX (emulated)", 11, 0, 0, 48, 32, 4, 16, 1536, 24, 65536,
     2482000, 1249000, 384, 6 << 20},
    {"gfx1201", "gfx1201", "AMD Radeon RX 9070 XT (emulated)", 12, 0, 1, 32, 32, 4, 16, 1536, 24, 65536,
     2400000, 1258000, 256, 8 << 20},
};

const Device *device(void)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!strcmp(devices[i].arch, runtime()->options.arch))
            return &devices[i];
    fprintf(stderr, "amdkernel emulator: there is no emulated device of architecture `%s`\n", runtime()->options.arch);
    exit(1);
}

/* HIP 6.4.3. A driver has the same number, as on Linux. */
static const int hip_version = 60443484;

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
    if (ordinal != 0)
        return answer(hipErrorInvalidDevice);
    COMMON_PROPERTIES(properties);
    snprintf(properties->uuid.bytes, sizeof properties->uuid.bytes, "emulated%s", device()->arch);
    properties->unifiedAddressing = properties->asyncEngineCount = properties->hostNativeAtomicSupported = 1;
    properties->sharedMemPerMultiprocessor = properties->sharedMemPerBlockOptin = device()->lds_bytes;
    properties->regsPerMultiprocessor = 65536 * 2;
    properties->maxBlocksPerMultiProcessor = device()->simds * device()->waves_per_simd;
    properties->globalL1CacheSupported = properties->localL1CacheSupported = 1;
    properties->memoryPoolsSupported = 0;
    return hipSuccess;
}

static hipError_t legacy_properties(hipDeviceProp_tR0000 *properties, int ordinal)
{
    if (!properties)
        return answer(hipErrorInvalidValue);
    if (ordinal != 0)
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

static bool attribute(const hipDeviceProp_tR0600 *p, hipDeviceAttribute_t attribute, int *value)
{
    switch (attribute) {
#define A(name, expression)                                                                                           \
    case hipDeviceAttribute##name: *value = (int)(expression); return true;
        A(EccEnabled, p->ECCEnabled)
        A(AsyncEngineCount, p->asyncEngineCount)
        A(CanMapHostMemory, 1)
        A(ClockRate, p->clockRate)
        A(ComputeMode, p->computeMode)
        A(ConcurrentKernels, 1)
        A(ConcurrentManagedAccess, 1)
        A(CooperativeLaunch, p->cooperativeLaunch)
        A(CooperativeMultiDeviceLaunch, 0)
        A(DirectManagedMemAccessFromHost, 1)
        A(GlobalL1CacheSupported, 1)
        A(HostNativeAtomicSupported, 1)
        A(Integrated, 0)
        A(IsMultiGpuBoard, 0)
        A(KernelExecTimeout, 0)
        A(L2CacheSize, p->l2CacheSize)
        A(ComputeCapabilityMajor, p->major)
        A(ComputeCapabilityMinor, p->minor)
        A(ManagedMemory, 1)
        A(MaxBlocksPerMultiProcessor, p->maxBlocksPerMultiProcessor)
        A(MaxBlockDimX, p->maxThreadsDim[0])
        A(MaxBlockDimY, p->maxThreadsDim[1])
        A(MaxBlockDimZ, p->maxThreadsDim[2])
        A(MaxGridDimX, p->maxGridSize[0])
        A(MaxGridDimY, p->maxGridSize[1])
        A(MaxGridDimZ, p->maxGridSize[2])
        A(MaxThreadsPerBlock, p->maxThreadsPerBlock)
        A(MaxThreadsPerMultiProcessor, p->maxThreadsPerMultiProcessor)
        A(MaxPitch, p->memPitch)
        A(MemoryBusWidth, p->memoryBusWidth)
        A(MemoryClockRate, p->memoryClockRate)
        A(MultiprocessorCount, p->multiProcessorCount)
        A(PhysicalMultiProcessorCount, p->multiProcessorCount)
        A(PageableMemoryAccess, 0)
        A(PageableMemoryAccessUsesHostPageTables, 0)
        A(PciBusId, 0)
        A(PciDeviceId, 0)
        A(PciDomainID, 0)
        A(MaxRegistersPerBlock, p->regsPerBlock)
        A(MaxRegistersPerMultiprocessor, p->regsPerMultiprocessor)
        A(MaxSharedMemoryPerBlock, p->sharedMemPerBlock)
        A(SharedMemPerBlockOptin, p->sharedMemPerBlock)
        A(SharedMemPerMultiprocessor, p->sharedMemPerMultiprocessor)
        A(MaxSharedMemoryPerMultiprocessor, p->maxSharedMemoryPerMultiProcessor)
        A(StreamPrioritiesSupported, 0)
        A(TextureAlignment, p->textureAlignment)
        A(TexturePitchAlignment, p->texturePitchAlignment)
        A(TotalConstantMemory, p->totalConstMem)
        A(TotalGlobalMem, p->totalGlobalMem > INT32_MAX ? INT32_MAX : p->totalGlobalMem)
        A(UnifiedAddressing, 1)
        A(WarpSize, p->warpSize)
        A(MemoryPoolsSupported, 0)
        A(VirtualMemoryManagementSupported, 0)
        A(HostRegisterSupported, 0)
        A(ClockInstructionRate, p->clockInstructionRate)
        A(WallClockRate, p->clockInstructionRate)
        A(IsLargeBar, 1)
        A(AsicRevision, 0)
        A(CanUseStreamWaitValue, 0)
        A(ImageSupport, 0)
        A(FineGrainSupport, 1)
#undef A
    default:
        return false;
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

hipError_t hipInit(unsigned flags)
{
    return answer(flags ? hipErrorInvalidValue : hipSuccess);
}

static hipError_t give(int *out, int value)
{
    if (!out)
        return answer(hipErrorInvalidValue);
    *out = value;
    return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int *version) { return give(version, hip_version); }
hipError_t hipDriverGetVersion(int *version) { return give(version, hip_version); }
hipError_t hipGetDeviceCount(int *count) { return give(count, 1); }
hipError_t hipGetDevice(int *ordinal) { return give(ordinal, 0); }

hipError_t hipSetDevice(int ordinal)
{
    return answer(ordinal == 0 ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipDeviceGet(hipDevice_t *handle, int ordinal)
{
    return ordinal == 0 ? give(handle, 0) : answer(hipErrorInvalidDevice);
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t handle)
{
    if (!name || bytes <= 0)
        return answer(hipErrorInvalidValue);
    snprintf(name, (size_t)bytes, "%s", device()->name);
    return answer(handle == 0 ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t handle)
{
    if (!bytes || handle != 0)
        return answer(bytes ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *bytes = runtime()->options.arena_bytes;
    return hipSuccess;
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t handle)
{
    if (!major || !minor || handle != 0)
        return answer(major && minor ? hipErrorInvalidDevice : hipErrorInvalidValue);
    *major = device()->major;
    *minor = device()->minor;
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int ordinal)
{
    if (!id || bytes <= 0 || ordinal != 0)
        return answer(ordinal ? hipErrorInvalidDevice : hipErrorInvalidValue);
    snprintf(id, (size_t)bytes, "0000:00:00.0");
    return hipSuccess;
}

hipError_t hipDeviceCanAccessPeer(int *can, int ordinal, int peer)
{
    return ordinal == 0 && peer == 0 ? give(can, 0) : answer(hipErrorInvalidDevice);
}

hipError_t hipDeviceGetLimit(size_t *value, enum hipLimit_t limit)
{
    if (!value)
        return answer(hipErrorInvalidValue);
    switch (limit) {
    case hipLimitStackSize: *value = 1024; return hipSuccess;
    case hipLimitMallocHeapSize: *value = 0; return hipSuccess; /* no malloc in kernels */
    default: return answer(hipErrorUnsupportedLimit);
    }
}

hipError_t hipGetDeviceFlags(unsigned *flags)
{
    if (!flags)
        return answer(hipErrorInvalidValue);
    *flags = hipDeviceScheduleAuto;
    return hipSuccess;
}

hipError_t hipSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return hipSuccess;
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = 0;
    return hipSuccess;
}

hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config)
{
    (void)config;
    return hipSuccess;
}

hipError_t hipDeviceSynchronize(void)
{
    return answer(device_fault());
}

/* Clears a fault. Memory and modules stay, unlike on a GPU: a program frees what it made. */
hipError_t hipDeviceReset(void)
{
    runtime_lock();
    runtime()->fault = hipSuccess;
    runtime_unlock();
    return hipSuccess;
}
