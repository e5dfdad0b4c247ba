/* Memory pools and stream-ordered allocation. A pool keeps no freed memory: it returns to the device at once. */
#include "hip/memory/allocation.h"
#include "hip/memory/ipc.h"
#include "hip/report/call_report.h"
#include "hip/runtime/answer.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct Pool {
    int device;
    bool shareable, imported;
    u64 release_threshold, used_high;
    int reuse[3]; /* hipMemPoolReuseFollowEventDependencies and the next two: kept to be read, without effect */
    struct Pool *next;
};
typedef struct Pool Pool;

static Pool defaults[MAX_DEVICES];
static Pool *chosen[MAX_DEVICES]; /* NULL: the default one */
static Pool *pools;

static Pool *default_pool(int ordinal)
{
    Pool *p = &defaults[ordinal];
    *p = *p->reuse ? *p : (Pool){.device = ordinal, .reuse = {1, 1, 1}};
    return p;
}

static Pool *pool_find(hipMemPool_t pool)
{
    Pool *p = (Pool *)(void *)pool;
    if (p >= defaults && p < defaults + MAX_DEVICES)
        return p;
    runtime_lock();
    Pool *found = pools;
    while (found && found != p)
        found = found->next;
    runtime_unlock();
    return found;
}

static Pool *current_pool(int ordinal)
{
    return chosen[ordinal] ? chosen[ordinal] : default_pool(ordinal);
}

hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *p)
{
    if (!pool || !p || p->allocType != hipMemAllocationTypePinned || p->location.type != hipMemLocationTypeDevice)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(p->location.id))
        return answer(hipErrorInvalidDevice);
    if (p->handleTypes != hipMemHandleTypeNone && p->handleTypes != hipMemHandleTypePosixFileDescriptor)
        return answer(hipErrorInvalidValue); /* the other kinds are for Windows */
    Pool *made = malloc(sizeof *made);
    if (!made)
        return answer(hipErrorOutOfMemory);
    runtime_lock();
    *made = (Pool){.device = p->location.id, .shareable = p->handleTypes != hipMemHandleTypeNone, .reuse = {1, 1, 1},
                   .next = pools};
    pools = made;
    runtime_unlock();
    *pool = (hipMemPool_t)(void *)made;
    return hipSuccess;
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    Pool *p = pool_find(pool);
    if (!p || p == &defaults[p->device])
        return answer(hipErrorInvalidValue);
    runtime_lock();
    Pool **link = &pools;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    if (chosen[p->device] == p)
        chosen[p->device] = NULL;
    runtime_unlock();
    free(p);
    return hipSuccess;
}

static hipError_t give(hipMemPool_t *pool, int ordinal, bool current)
{
    if (!pool)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(ordinal))
        return answer(hipErrorInvalidDevice);
    *pool = (hipMemPool_t)(void *)(current ? current_pool(ordinal) : default_pool(ordinal));
    return hipSuccess;
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int ordinal) { return give(pool, ordinal, false); }
hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int ordinal) { return give(pool, ordinal, true); }

hipError_t hipDeviceSetMemPool(int ordinal, hipMemPool_t pool)
{
    Pool *p = pool_find(pool);
    if (!runtime_has_device(ordinal))
        return answer(hipErrorInvalidDevice);
    if (!p || p->device != ordinal)
        return answer(hipErrorInvalidValue);
    chosen[ordinal] = p;
    return hipSuccess;
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep)
{
    (void)keep;
    return answer(pool_find(pool) ? hipSuccess : hipErrorInvalidValue);
}

static u64 used(const Pool *p) { return allocation_in_pool(p); }

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr which, void *value)
{
    const Pool *p = pool_find(pool);
    if (!p || !value)
        return answer(hipErrorInvalidValue);
    switch (which) {
    case hipMemPoolReuseFollowEventDependencies: *(int *)value = p->reuse[0]; return hipSuccess;
    case hipMemPoolReuseAllowOpportunistic: *(int *)value = p->reuse[1]; return hipSuccess;
    case hipMemPoolReuseAllowInternalDependencies: *(int *)value = p->reuse[2]; return hipSuccess;
    case hipMemPoolAttrReleaseThreshold: *(u64 *)value = p->release_threshold; return hipSuccess;
    case hipMemPoolAttrReservedMemCurrent: case hipMemPoolAttrUsedMemCurrent: *(u64 *)value = used(p); return hipSuccess;
    case hipMemPoolAttrReservedMemHigh: case hipMemPoolAttrUsedMemHigh:
        *(u64 *)value = p->used_high > used(p) ? p->used_high : used(p);
        return hipSuccess;
    default: return answer(hipErrorInvalidValue);
    }
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr which, void *value)
{
    Pool *p = pool_find(pool);
    if (!p || !value)
        return answer(hipErrorInvalidValue);
    switch (which) {
    case hipMemPoolReuseFollowEventDependencies: p->reuse[0] = *(int *)value; return hipSuccess;
    case hipMemPoolReuseAllowOpportunistic: p->reuse[1] = *(int *)value; return hipSuccess;
    case hipMemPoolReuseAllowInternalDependencies: p->reuse[2] = *(int *)value; return hipSuccess;
    case hipMemPoolAttrReleaseThreshold: p->release_threshold = *(u64 *)value; return hipSuccess;
    case hipMemPoolAttrReservedMemHigh: case hipMemPoolAttrUsedMemHigh: /* can only be reset */
        p->used_high = 0;
        return answer(*(u64 *)value ? hipErrorInvalidValue : hipSuccess);
    default: return answer(hipErrorInvalidValue);
    }
}

/* Every device can access all memory. */
hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc *list, size_t count)
{
    if (!pool_find(pool) || (count && !list))
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        if (!runtime_has_device(list[i].location.id))
            return answer(hipErrorInvalidDevice);
    return hipSuccess;
}

hipError_t hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t pool, hipMemLocation *location)
{
    if (!flags || !location || !pool_find(pool) || !runtime_has_device(location->id))
        return answer(hipErrorInvalidValue);
    *flags = hipMemAccessFlagsProtReadWrite;
    return hipSuccess;
}

static hipError_t allocate(void **pointer, size_t bytes, Pool *p, hipStream_t stream)
{
    Stream *s = stream_find(stream);
    if (!p || !s || p->imported)
        return answer(s ? hipErrorInvalidValue : hipErrorInvalidHandle);
    if (s->capture) {
        hipMemAllocNodeParams params = {.bytesize = bytes, .poolProps.allocType = hipMemAllocationTypePinned};
        hipError_t error = pointer ? allocation_new(&params.dptr, bytes, ALLOCATION_DEVICE, 0) : hipErrorInvalidValue;
        const Work w = {.kind = WORK_ALLOCATE, .allocate = params};
        if (error == hipSuccess)
            error = stream_submit(stream, &w);
        if (error == hipSuccess)
            *pointer = params.dptr;
        return answer(error);
    }
    hipError_t error = allocation_new(pointer, bytes, ALLOCATION_DEVICE, 0);
    if (error == hipSuccess && *pointer)
        allocation_set_pool(*pointer, p);
    if (used(p) > p->used_high)
        p->used_high = used(p);
    return answer(error);
}

hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream)
{
    return allocate(pointer, bytes, current_pool(runtime_device()), stream);
}

hipError_t hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t pool, hipStream_t stream)
{
    return allocate(pointer, bytes, pool_find(pool), stream);
}

hipError_t hipFreeAsync(void *pointer, hipStream_t stream)
{
    Allocation a;
    const Stream *s = stream_find(stream);
    if (!pointer || !s)
        return answer(s ? hipErrorInvalidValue : hipErrorInvalidHandle);
    if (allocation_find(pointer, &a) && a.kind == ALLOCATION_MAPPED) /* of another process: only our mapping ends */
        return answer(ipc_close(pointer) ? hipSuccess : hipErrorInvalidValue);
    const Work w = {.kind = s->capture ? WORK_RELEASE : WORK_FREE, .released = pointer};
    bool known = allocation_find(pointer, &a) && a.address == (u64)(uintptr_t)pointer && a.kind == ALLOCATION_DEVICE;
    if (!known && !s->capture)
        report_bad_range("release", pointer, 1, true);
    return answer(known || s->capture ? stream_submit(stream, &w) : hipErrorInvalidValue);
}

/*
 * ---- between processes ----
 *
 * Only blocks are shared; a pool's descriptor says no more than that the pool exists, and for which device.
 */

typedef struct { u64 magic; int device; } PoolFile;
static const u64 pool_magic = 0x6c6f6f706d64616bull;

hipError_t hipMemPoolExportToShareableHandle(void *out, hipMemPool_t pool, hipMemAllocationHandleType type, unsigned flags)
{
    const Pool *p = pool_find(pool);
    if (!out || !p || !p->shareable || p->imported || type != hipMemHandleTypePosixFileDescriptor || flags)
        return answer(hipErrorInvalidValue);
    const PoolFile content = {pool_magic, p->device};
    int file = memfd_create("memory pool", MFD_CLOEXEC);
    if (file < 0 || write(file, &content, sizeof content) != sizeof content) {
        if (file >= 0)
            close(file);
        return answer(hipErrorOutOfMemory);
    }
    *(int *)out = file; /* the program closes it or sends it to another process */
    return hipSuccess;
}

hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t *pool, void *os_handle, hipMemAllocationHandleType type,
                                               unsigned flags)
{
    PoolFile content = {0};
    if (!pool || type != hipMemHandleTypePosixFileDescriptor || flags ||
        pread((int)(intptr_t)os_handle, &content, sizeof content, 0) != sizeof content || content.magic != pool_magic)
        return answer(hipErrorInvalidValue);
    if (!runtime_has_device(content.device))
        return answer(hipErrorInvalidDevice);
    Pool *made = malloc(sizeof *made);
    if (!made)
        return answer(hipErrorOutOfMemory);
    runtime_lock();
    *made = (Pool){.device = content.device, .imported = true, .reuse = {1, 1, 1}, .next = pools};
    pools = made;
    runtime_unlock();
    *pool = (hipMemPool_t)(void *)made;
    return hipSuccess;
}

/* As in AMD's runtime: the block need not be a pool's, and one code is returned for all that cannot be shared. */
hipError_t hipMemPoolExportPointer(hipMemPoolPtrExportData *out, void *pointer)
{
    if (!out || !pointer)
        return answer(hipErrorInvalidValue);
    return answer(ipc_export(pointer, out) == hipSuccess ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t hipMemPoolImportPointer(void **pointer, hipMemPool_t pool, hipMemPoolPtrExportData *data)
{
    const Pool *p = pool_find(pool);
    return answer(pointer && data && p && p->imported ? ipc_import(data, pointer) : hipErrorInvalidValue);
}
