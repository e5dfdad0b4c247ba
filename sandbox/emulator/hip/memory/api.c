/* hipMalloc, hipFree, and the calls for pinned and registered host memory. */
#include "hip/memory/allocation.h"
#include "hip/memory/range.h"
#include "hip/report/call_report.h"
#include "hip/runtime/answer.h"
#include "hip/runtime/fault.h"
#include "hip/streams/capture.h"
#include "hip/streams/queue.h"

static hipError_t allocate(void **pointer, size_t bytes, AllocationKind kind, u32 flags)
{
    hipError_t error = capture_forbids();
    return answer(error != hipSuccess ? error : allocation_new(pointer, bytes, kind, flags));
}

/* hipFree and hipHostFree alike, whichever call the memory is from: so does AMD's runtime (CLR, ihipFree). */
static hipError_t release(void *pointer)
{
    Allocation a;
    if (!pointer)
        return hipSuccess;
    bool known = allocation_find(pointer, &a) && a.address == (u64)(uintptr_t)pointer;
    if (!known)
        report_bad_range("release", pointer, 1, true);
    if (!known || a.kind == ALLOCATION_REGISTERED || a.kind == ALLOCATION_MAPPED)
        return hipErrorInvalidValue;
    queue_wait_device(a.device); /* which may use it */
    return allocation_end(pointer) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipMalloc(void **pointer, size_t bytes) { return allocate(pointer, bytes, ALLOCATION_DEVICE, 0); }

hipError_t hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned flags)
{
    enum { SIGNAL_BYTES = 8 };
    if (flags > hipDeviceMallocContiguous || (flags == hipMallocSignalMemory && bytes != SIGNAL_BYTES))
        return answer(hipErrorInvalidValue);
    return allocate(pointer, bytes, ALLOCATION_DEVICE, flags);
}

hipError_t hipMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    if (!bytes || (flags != hipMemAttachGlobal && flags != hipMemAttachHost))
        return answer(hipErrorInvalidValue);
    return allocate(pointer, bytes, ALLOCATION_MANAGED, flags);
}

hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned flags)
{
    return allocate(pointer, bytes, ALLOCATION_HOST, flags);
}

hipError_t hipHostAlloc(void **pointer, size_t bytes, unsigned flags) { return hipHostMalloc(pointer, bytes, flags); }
hipError_t hipMallocHost(void **pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }
hipError_t hipMemAllocHost(void **pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }

static const size_t pitch_alignment = 256; /* texturePitchAlignment of CDNA3 */

static hipError_t allocate_pitched(void **pointer, size_t *pitch, size_t width, size_t rows)
{
    size_t bytes;
    if (!pitch)
        return answer(hipErrorInvalidValue);
    *pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    if (__builtin_mul_overflow(*pitch, rows, &bytes))
        return answer(hipErrorOutOfMemory);
    return allocate(pointer, bytes, ALLOCATION_DEVICE, 0);
}

hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    return allocate_pitched(pointer, pitch, width, height);
}

hipError_t hipMemAllocPitch(hipDeviceptr_t *pointer, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (element != 4 && element != 8 && element != 16)
        return answer(hipErrorInvalidValue);
    return allocate_pitched(pointer, pitch, width, height);
}

hipError_t hipMalloc3D(hipPitchedPtr *out, hipExtent extent)
{
    size_t rows;
    if (!out)
        return answer(hipErrorInvalidValue);
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return answer(hipErrorOutOfMemory);
    hipError_t error = allocate_pitched(&out->ptr, &out->pitch, extent.width, rows);
    out->xsize = extent.width;
    out->ysize = extent.height;
    return error;
}

hipError_t hipFree(void *pointer)
{
    hipError_t error = pointer ? capture_forbids() : hipSuccess;
    if (error == hipSuccess)
        error = release(pointer);
    return answer(error != hipSuccess ? error : fault_latched()); /* hipFree waits for the device */
}

hipError_t hipHostFree(void *pointer) { return answer(release(pointer)); }
hipError_t hipFreeHost(void *pointer) { return hipHostFree(pointer); }

/* ---- the host's memory as kernels see it: under the same address ---- */

static bool is_host(const Allocation *a) { return a->kind == ALLOCATION_HOST || a->kind == ALLOCATION_REGISTERED; }

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    Allocation a;
    if (!device || !host || flags || !allocation_find(host, &a) || !is_host(&a))
        return answer(hipErrorInvalidValue);
    *device = host;
    return hipSuccess;
}

hipError_t hipHostGetFlags(unsigned *flags, void *host)
{
    Allocation a;
    if (!flags || !allocation_find(host, &a) || !is_host(&a))
        return answer(hipErrorInvalidValue);
    *flags = a.flags;
    return hipSuccess;
}

hipError_t hipHostRegister(void *host, size_t bytes, unsigned flags)
{
    enum { KNOWN = hipHostRegisterPortable | hipHostRegisterMapped | hipHostRegisterIoMemory | hipHostRegisterReadOnly };
    if (!host || !bytes || flags & ~(unsigned)(KNOWN | hipExtHostRegisterCoarseGrained))
        return answer(hipErrorInvalidValue);
    return answer(allocation_adopt(host, bytes, ALLOCATION_REGISTERED, flags));
}

hipError_t hipHostUnregister(void *host)
{
    Allocation a;
    if (!host)
        return answer(hipErrorInvalidValue);
    bool known = allocation_find(host, &a) && a.kind == ALLOCATION_REGISTERED && a.address == (u64)(uintptr_t)host;
    if (known)
        queue_wait_device(a.device);
    return answer(known && allocation_end(host) ? hipSuccess : hipErrorHostMemoryNotRegistered);
}

/* Not HIP's: the runner names the payload between two guard bands, so that a touch of a guard is a fault, and says
 * what it is for. */
int amdkernelDescribeMemory(void *pointer, size_t bytes, const char *name, int use)
{
    enum { READ_ONLY, WRITABLE, INPUT, UNSET }; /* INPUT: a store is a finding; UNSET: writable, and only poison in it */
    Memory *m = runtime()->memory;
    u64 address = (u64)(uintptr_t)pointer;
    runtime_lock();
    bool done = memory_describe(m, address, bytes, name, use != READ_ONLY);
    if (use == INPUT)
        done = done && memory_is_input(m, address);
    else if (use == UNSET)
        memory_set_unset(m, address, bytes, true);
    runtime_unlock();
    return done ? 0 : -1;
}

/* Not HIP's: a run of launches begins. It must not depend on what earlier ones left in static memory, and it has touched
 * nothing yet. */
void amdkernelBeginRun(void)
{
    queue_wait_device(runtime_device());
    memory_begin_run(runtime()->memory);
    memory_forget_touched(runtime()->memory);
}

/* Not HIP's: how many bytes of a range no kernel has loaded (or stored) since the run began, and the first of them;
 * -1: not known. */
int amdkernelUntouched(void *pointer, size_t bytes, int store, unsigned long long *count, unsigned long long *first)
{
    u64 untouched, at;
    queue_wait_device(runtime_device());
    if (!memory_untouched(runtime()->memory, (u64)(uintptr_t)pointer, bytes, store, &untouched, &at))
        return -1;
    *count = untouched;
    *first = at;
    return 0;
}
