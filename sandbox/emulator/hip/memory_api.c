/* hipMalloc and its kin: device, pinned host and managed memory are all blocks of the arena. */
#include "allocation.h"

#include <stdlib.h>
#include <string.h>

static Allocation *blocks;
static size_t block_count, block_room;
static u64 bytes_in_use;

hipError_t allocation_new(void **pointer, size_t bytes, AllocationKind kind, u32 flags)
{
    if (!pointer)
        return hipErrorInvalidValue;
    *pointer = NULL;
    if (bytes == 0)
        return hipSuccess;
    runtime_lock();
    hipError_t error = hipErrorOutOfMemory;
    if (block_count == block_room) {
        size_t room = block_room ? 2 * block_room : 64;
        Allocation *more = realloc(blocks, room * sizeof *blocks);
        if (!more)
            goto done;
        blocks = more;
        block_room = room;
    }
    u64 address = memory_allocate(runtime()->memory, bytes);
    if (!address)
        goto done;
    blocks[block_count++] = (Allocation){.address = address, .bytes = bytes, .kind = kind, .flags = flags};
    bytes_in_use += bytes;
    *pointer = (void *)(uintptr_t)address;
    error = hipSuccess;
done:
    runtime_unlock();
    return error;
}

/* Index of the block that holds `address`; block_count when there is none. The newest come first: they are freed first. */
static size_t find(u64 address)
{
    for (size_t i = block_count; i-- > 0;)
        if (address - blocks[i].address < blocks[i].bytes)
            return i;
    return block_count;
}

bool allocation_find(const void *pointer, Allocation *out)
{
    runtime_lock();
    size_t i = find((u64)(uintptr_t)pointer);
    bool found = i < block_count;
    if (found)
        *out = blocks[i];
    runtime_unlock();
    return found;
}

static hipError_t release(void *pointer, bool host)
{
    if (!pointer)
        return hipSuccess;
    runtime_lock();
    u64 address = (u64)(uintptr_t)pointer;
    size_t i = find(address);
    bool known = i < block_count && blocks[i].address == address && (blocks[i].kind == ALLOCATION_HOST) == host;
    if (known && memory_release(runtime()->memory, address)) {
        bytes_in_use -= blocks[i].bytes;
        memmove(&blocks[i], &blocks[i + 1], (--block_count - i) * sizeof *blocks);
    }
    runtime_unlock();
    return known ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipMalloc(void **pointer, size_t bytes)
{
    return answer(allocation_new(pointer, bytes, ALLOCATION_DEVICE, 0));
}

hipError_t hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned flags)
{
    return answer(allocation_new(pointer, bytes, ALLOCATION_DEVICE, flags));
}

hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return answer(allocation_new(pointer, bytes, ALLOCATION_DEVICE, 0));
}

hipError_t hipMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
        return answer(hipErrorInvalidValue);
    return answer(bytes ? allocation_new(pointer, bytes, ALLOCATION_MANAGED, flags) : hipErrorInvalidValue);
}

hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned flags)
{
    return answer(allocation_new(pointer, bytes, ALLOCATION_HOST, flags));
}

hipError_t hipHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    return hipHostMalloc(pointer, bytes, flags);
}

hipError_t hipMallocHost(void **pointer, size_t bytes)
{
    return hipHostMalloc(pointer, bytes, 0);
}

hipError_t hipMemAllocHost(void **pointer, size_t bytes)
{
    return hipHostMalloc(pointer, bytes, 0);
}

static const size_t pitch_alignment = 256; /* texturePitchAlignment of CDNA3 */

hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    if (!pitch)
        return answer(hipErrorInvalidValue);
    *pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    size_t bytes;
    if (__builtin_mul_overflow(*pitch, height, &bytes))
        return answer(hipErrorOutOfMemory);
    return answer(allocation_new(pointer, bytes, ALLOCATION_DEVICE, 0));
}

hipError_t hipMemAllocPitch(hipDeviceptr_t *pointer, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (element != 4 && element != 8 && element != 16)
        return answer(hipErrorInvalidValue);
    return hipMallocPitch(pointer, pitch, width, height);
}

hipError_t hipFree(void *pointer)
{
    hipError_t error = release(pointer, false);
    return answer(error != hipSuccess ? error : device_fault()); /* hipFree waits for the device */
}

hipError_t hipFreeAsync(void *pointer, hipStream_t stream)
{
    (void)stream;
    return answer(pointer ? release(pointer, false) : hipErrorInvalidValue);
}

hipError_t hipHostFree(void *pointer)
{
    return answer(release(pointer, true));
}

hipError_t hipFreeHost(void *pointer)
{
    return hipHostFree(pointer);
}

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    Allocation a;
    if (!device || !host || flags)
        return answer(hipErrorInvalidValue);
    if (!allocation_find(host, &a) || a.kind != ALLOCATION_HOST)
        return answer(hipErrorInvalidValue);
    *device = host;
    return hipSuccess;
}

hipError_t hipHostGetFlags(unsigned *flags, void *host)
{
    Allocation a;
    if (!flags || !allocation_find(host, &a) || a.kind != ALLOCATION_HOST)
        return answer(hipErrorInvalidValue);
    *flags = a.flags;
    return hipSuccess;
}

/* Memory of the program that the arena does not hold cannot be shown to a kernel. */
hipError_t hipHostRegister(void *host, size_t bytes, unsigned flags)
{
    (void)host, (void)bytes, (void)flags;
    return answer(hipErrorNotSupported);
}

hipError_t hipHostUnregister(void *host)
{
    (void)host;
    return answer(hipErrorHostMemoryNotRegistered);
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (!free_bytes || !total)
        return answer(hipErrorInvalidValue);
    runtime_lock();
    *total = runtime()->options.arena_bytes;
    *free_bytes = *total - bytes_in_use;
    runtime_unlock();
    return hipSuccess;
}

hipError_t hipMemPtrGetInfo(void *pointer, size_t *bytes)
{
    Allocation a;
    if (!pointer || !bytes || !allocation_find(pointer, &a))
        return answer(hipErrorInvalidValue);
    *bytes = a.bytes;
    return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t pointer)
{
    Allocation a;
    if (!allocation_find(pointer, &a))
        return answer(hipErrorNotFound);
    if (base)
        *base = (hipDeviceptr_t)(uintptr_t)a.address;
    if (bytes)
        *bytes = a.bytes;
    return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer)
{
    static const enum hipMemoryType types[] = {
        [ALLOCATION_DEVICE] = hipMemoryTypeDevice,
        [ALLOCATION_HOST] = hipMemoryTypeHost,
        [ALLOCATION_MANAGED] = hipMemoryTypeManaged,
    };
    Allocation a;
    if (!attributes || !pointer)
        return answer(hipErrorInvalidValue);
    *attributes = (hipPointerAttribute_t){.type = hipMemoryTypeUnregistered, .device = -2};
    if (!allocation_find(pointer, &a))
        return hipSuccess;
    attributes->type = types[a.kind];
    attributes->device = 0;
    attributes->devicePointer = (void *)(uintptr_t)pointer;
    attributes->hostPointer = a.kind == ALLOCATION_DEVICE ? NULL : (void *)(uintptr_t)pointer;
    attributes->isManaged = a.kind == ALLOCATION_MANAGED;
    attributes->allocationFlags = a.flags;
    return hipSuccess;
}

hipError_t hipMemAdvise(const void *pointer, size_t bytes, hipMemoryAdvise advice, int device)
{
    (void)advice, (void)device;
    return answer(pointer && bytes ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipMemPrefetchAsync(const void *pointer, size_t bytes, int device, hipStream_t stream)
{
    (void)device, (void)stream;
    return answer(pointer && bytes ? hipSuccess : hipErrorInvalidValue);
}

/* Not HIP's: the runner names the payload between two guard bands, so that a touch of a guard is a fault. */
int amdkernelDescribeMemory(void *pointer, size_t bytes, const char *name, int writable)
{
    runtime_lock();
    bool done = memory_describe(runtime()->memory, (u64)(uintptr_t)pointer, bytes, name, writable != 0);
    runtime_unlock();
    return done ? 0 : -1;
}
