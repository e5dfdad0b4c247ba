/*
 * Advice on managed memory, and its prefetching. All memory is in one place, so neither changes what a program computes:
 * what was said of a block is told back, of the whole block where it was said of a part.
 */
#include "allocation.h"
#include "device.h"
#include "stream.h"

#include <string.h>

static hipError_t check_place(const void *pointer, size_t bytes, int ordinal)
{
    Allocation a;
    if (!pointer || !bytes)
        return hipErrorInvalidValue;
    if (ordinal != hipCpuDeviceId && !is_device(ordinal))
        return hipErrorInvalidDevice;
    bool inside = allocation_find(pointer, &a) && bytes <= a.address + a.bytes - (u64)(uintptr_t)pointer;
    return inside ? hipSuccess : hipErrorInvalidValue;
}

static bool follow(Advice *a, hipMemoryAdvise advice, int ordinal)
{
    u32 bit = ordinal >= 0 ? 1u << ordinal : 0;
    switch (advice) {
    case hipMemAdviseSetReadMostly: a->read_mostly = true; return true;
    case hipMemAdviseUnsetReadMostly: a->read_mostly = false; return true;
    case hipMemAdviseSetPreferredLocation: a->preferred = PLACE_OF(ordinal); return true;
    case hipMemAdviseUnsetPreferredLocation: a->preferred = NO_PLACE; return true;
    case hipMemAdviseSetAccessedBy: a->accessed_by |= bit; a->accessed_by_host |= !bit; return true;
    case hipMemAdviseUnsetAccessedBy: a->accessed_by &= ~bit; a->accessed_by_host &= bit != 0; return true;
    case hipMemAdviseSetCoarseGrain: a->coarse = true; return true;
    case hipMemAdviseUnsetCoarseGrain: a->coarse = false; return true;
    default: return false;
    }
}

hipError_t hipMemAdvise(const void *pointer, size_t bytes, hipMemoryAdvise advice, int ordinal)
{
    hipError_t error = check_place(pointer, bytes, ordinal);
    if (error != hipSuccess)
        return answer(error);
    runtime_lock();
    Advice *a = allocation_advice(pointer);
    bool known = a && follow(a, advice, ordinal);
    runtime_unlock();
    return answer(known ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipMemPrefetchAsync(const void *pointer, size_t bytes, int ordinal, hipStream_t stream)
{
    hipError_t error = check_place(pointer, bytes, ordinal);
    if (error == hipSuccess && !stream_find(stream))
        error = hipErrorInvalidHandle;
    if (error != hipSuccess)
        return answer(error);
    runtime_lock();
    Advice *a = allocation_advice(pointer);
    if (a)
        a->prefetched = PLACE_OF(ordinal);
    runtime_unlock();
    return hipSuccess;
}

static int place(u8 kept) { return kept == NO_PLACE ? hipInvalidDeviceId : (int)kept - PLACE_OF(0); }

/* As many places as there is room for; the rest of the room says that there are no more. */
static void list_accessing(const Advice *a, int *out, size_t room)
{
    size_t n = 0;
    if (a->accessed_by_host && n < room)
        out[n++] = hipCpuDeviceId;
    for (int k = 0; k < MAX_DEVICES && n < room; k++)
        if (a->accessed_by >> k & 1)
            out[n++] = k;
    while (n < room)
        out[n++] = hipInvalidDeviceId;
}

hipError_t hipMemRangeGetAttribute(void *out, size_t out_bytes, hipMemRangeAttribute which, const void *pointer,
                                   size_t bytes)
{
    Allocation block;
    int *value = out;
    if (!out || out_bytes < sizeof(int) || out_bytes % sizeof(int) || !pointer || !bytes || !allocation_find(pointer, &block))
        return answer(hipErrorInvalidValue);
    const Advice *a = &block.advice;
    switch (which) {
    case hipMemRangeAttributeReadMostly: *value = a->read_mostly; return hipSuccess;
    case hipMemRangeAttributePreferredLocation: *value = place(a->preferred); return hipSuccess;
    case hipMemRangeAttributeAccessedBy: list_accessing(a, out, out_bytes / sizeof(int)); return hipSuccess;
    case hipMemRangeAttributeLastPrefetchLocation: *value = place(a->prefetched); return hipSuccess;
    case hipMemRangeAttributeCoherencyMode:
        *value = a->coarse ? (int)hipMemRangeCoherencyModeCoarseGrain : (int)hipMemRangeCoherencyModeFineGrain;
        return hipSuccess;
    default: return answer(hipErrorInvalidValue);
    }
}

hipError_t hipMemRangeGetAttributes(void **out, size_t *out_bytes, hipMemRangeAttribute *which, size_t count,
                                    const void *pointer, size_t bytes)
{
    hipError_t error = out && out_bytes && which && count ? hipSuccess : hipErrorInvalidValue;
    for (size_t i = 0; i < count && error == hipSuccess; i++)
        error = hipMemRangeGetAttribute(out[i], out_bytes[i], which[i], pointer, bytes);
    return answer(error);
}
