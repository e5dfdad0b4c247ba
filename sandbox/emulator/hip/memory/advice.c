/*
 * Advice on managed memory, and prefetching. All memory is in one place, so neither changes what a program computes:
 * they are kept per page, and read back as from AMD's driver and runtime.
 * Source: rocm-systems, projects/clr: hipamd/src/hip_hmm.cpp, rocclr/device/rocm/rocdevice.cpp (GetSvmAttributes);
 * ROCR-Runtime, runtime.cpp (GetSvmAttrib); Linux, drivers/gpu/drm/amd/amdkfd/kfd_svm.c (svm_range_get_attr).
 */
#include "hip/memory/allocation.h"
#include "hip/runtime/answer.h"
#include "hip/streams/capture.h"
#include "hip/streams/stream.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

/* ---- pages of a block ---- */

typedef struct { u64 first, end; } Pages; /* counted from the block's first */

static u64 page_of(u64 address) { return address / PAGE; }

static Pages pages_of(const Allocation *a, const void *pointer, size_t bytes)
{
    u64 start = (u64)(uintptr_t)pointer, base = page_of(a->address);
    return (Pages){page_of(start) - base, page_of(start + bytes - 1) + 1 - base};
}

static Pages all_pages(const Allocation *a) { return pages_of(a, (const void *)(uintptr_t)a->address, a->bytes); }

/* The advice of the first of these pages, which follow each other. All pages of a block share one advice until a part of
 * the block gets its own; *pages is then {0, 1}. NULL: no memory. */
static Advice *advice_of(Allocation *a, Pages *pages)
{
    Pages all = all_pages(a);
    if (!a->page_advice && pages->first == 0 && pages->end >= all.end) {
        *pages = (Pages){0, 1};
        return &a->advice;
    }
    if (!a->page_advice && (a->page_advice = malloc(all.end * sizeof *a->page_advice)))
        for (u64 i = 0; i < all.end; i++)
            a->page_advice[i] = a->advice;
    return a->page_advice ? a->page_advice + pages->first : NULL;
}

/* ---- giving advice ---- */

/* Unsetting the host's access unsets that of the first device, as in AMD's runtime. */
static bool follow(Advice *a, hipMemoryAdvise advice, int ordinal)
{
    u32 bit = ordinal >= 0 ? 1u << ordinal : 0;
    switch (advice) {
    case hipMemAdviseSetReadMostly: a->read_mostly = true; return true;
    case hipMemAdviseUnsetReadMostly: a->read_mostly = false; return true;
    case hipMemAdviseSetPreferredLocation: a->preferred = PLACE_OF(ordinal); return true;
    case hipMemAdviseUnsetPreferredLocation: a->preferred = NO_PLACE; return true;
    case hipMemAdviseSetAccessedBy: a->accessed_by |= bit; return true;
    case hipMemAdviseUnsetAccessedBy: a->accessed_by &= ~(bit ? bit : 1u); return true;
    case hipMemAdviseSetCoarseGrain: a->coarse = true; return true;
    case hipMemAdviseUnsetCoarseGrain: a->coarse = false; return true;
    default: return false;
    }
}

static bool follow_all(const void *pointer, size_t bytes, hipMemoryAdvise advice, int ordinal)
{
    runtime_lock();
    Allocation *a = allocation_locked(pointer);
    Pages pages = a ? pages_of(a, pointer, bytes) : (Pages){0, 0};
    Advice *each = a ? advice_of(a, &pages) : NULL;
    bool known = each;
    for (u64 i = 0; known && i < pages.end - pages.first; i++)
        known = follow(&each[i], advice, ordinal);
    runtime_unlock();
    return known;
}

static bool leaves_its_block(const void *pointer, size_t bytes)
{
    Allocation a;
    return allocation_find(pointer, &a) && bytes > a.address + a.bytes - (u64)(uintptr_t)pointer;
}

hipError_t hipMemAdvise(const void *pointer, size_t bytes, hipMemoryAdvise advice, int ordinal)
{
    bool of_any_device = advice == hipMemAdviseSetReadMostly || advice == hipMemAdviseUnsetReadMostly;
    if (!pointer || !bytes)
        return answer(hipErrorInvalidValue);
    hipError_t error = capture_forbids();
    if (error != hipSuccess)
        return answer(error);
    if (!of_any_device && ordinal != hipCpuDeviceId && !runtime_has_device(ordinal))
        return answer(hipErrorInvalidDevice);
    bool done = !leaves_its_block(pointer, bytes) && follow_all(pointer, bytes, advice, ordinal);
    return answer(done ? hipSuccess : hipErrorInvalidValue);
}

/* Memory outside all blocks is the host's own, which devices cannot access (hipDeviceAttributePageableMemoryAccess). */
hipError_t hipMemPrefetchAsync(const void *pointer, size_t bytes, int ordinal, hipStream_t stream)
{
    Allocation a;
    if (!pointer || !bytes || leaves_its_block(pointer, bytes))
        return answer(hipErrorInvalidValue);
    if (ordinal != hipCpuDeviceId && !runtime_has_device(ordinal))
        return answer(hipErrorInvalidDevice);
    if (!stream_find(stream))
        return answer(hipErrorInvalidHandle);
    if (!allocation_find(pointer, &a))
        return answer(ordinal == hipCpuDeviceId ? hipSuccess : hipErrorNotSupported);
    runtime_lock();
    Allocation *block = allocation_locked(pointer);
    Pages pages = block ? pages_of(block, pointer, bytes) : (Pages){0, 0};
    Advice *each = block ? advice_of(block, &pages) : NULL;
    for (u64 i = 0; each && i < pages.end - pages.first; i++)
        each[i].prefetched = PLACE_OF(ordinal);
    runtime_unlock();
    return hipSuccess;
}

/* ---- reading it ---- */

/* What applies to all pages of a range. */
typedef struct {
    Advice advice;
    bool any_coarse;
} Common;

static void add_page(Common *c, const Advice *a)
{
    c->advice.preferred = c->advice.preferred == a->preferred ? a->preferred : NO_PLACE;
    c->advice.prefetched = c->advice.prefetched == a->prefetched ? a->prefetched : NO_PLACE;
    c->advice.accessed_by &= a->accessed_by;
    c->advice.read_mostly &= a->read_mostly;
    c->advice.coarse &= a->coarse;
    c->any_coarse |= a->coarse;
}

/* False if the pages are not all in one block. */
static bool common_of(const void *pointer, size_t bytes, Common *out)
{
    runtime_lock();
    const Allocation *a = allocation_locked(pointer);
    Pages pages = a ? pages_of(a, pointer, bytes) : (Pages){0, 0};
    bool known = a && pages.first < pages.end && pages.end <= all_pages(a).end;
    if (known) {
        const Advice *first = a->page_advice ? a->page_advice + pages.first : &a->advice;
        *out = (Common){.advice = *first, .any_coarse = first->coarse};
        for (u64 i = 1; a->page_advice && i < pages.end - pages.first; i++)
            add_page(out, &first[i]);
    }
    runtime_unlock();
    return known;
}

/* Memory that is not managed keeps the coherence of its allocation. */
static int coherency(const void *pointer, const Common *c)
{
    static const int coherence[] = {hipMemRangeCoherencyModeFineGrain, hipMemRangeCoherencyModeCoarseGrain};
    Allocation a = {0};
    if (allocation_find(pointer, &a) && a.kind == ALLOCATION_DEVICE)
        return coherence[true];
    if (a.kind == ALLOCATION_HOST)
        return coherence[(a.flags & hipHostMallocNonCoherent) != 0];
    if (c->any_coarse)
        return c->advice.coarse ? coherence[true] : hipMemRangeCoherencyModeIndeterminate;
    return coherence[false];
}

static int place(u8 kept) { return kept == NO_PLACE ? hipInvalidDeviceId : (int)kept - PLACE_OF(0); }

/* Up to as many devices as there is room for, never the host; the rest of the room is filled with hipInvalidDeviceId. */
static void list_accessing(u32 devices, int *out, size_t room)
{
    size_t n = 0;
    for (int k = 0; k < MAX_DEVICES && n < room; k++)
        if (devices >> k & 1)
            out[n++] = k;
    while (n < room)
        out[n++] = hipInvalidDeviceId;
}

hipError_t hipMemRangeGetAttribute(void *out, size_t out_bytes, hipMemRangeAttribute which, const void *pointer,
                                   size_t bytes)
{
    Common c;
    int *value = out;
    bool list = which == hipMemRangeAttributeAccessedBy;
    if (!out || !out_bytes || !pointer || !bytes || !common_of(pointer, bytes, &c) ||
        (list ? out_bytes % sizeof(int) != 0 : out_bytes != sizeof(int)))
        return answer(hipErrorInvalidValue);
    switch (which) {
    case hipMemRangeAttributeReadMostly: *value = c.advice.read_mostly; return hipSuccess;
    case hipMemRangeAttributePreferredLocation: *value = place(c.advice.preferred); return hipSuccess;
    case hipMemRangeAttributeAccessedBy:
        list_accessing(c.advice.accessed_by, out, out_bytes / sizeof(int));
        return hipSuccess;
    case hipMemRangeAttributeLastPrefetchLocation: *value = place(c.advice.prefetched); return hipSuccess;
    case hipMemRangeAttributeCoherencyMode: *value = coherency(pointer, &c); return hipSuccess;
    default: return answer(hipErrorInvalidValue);
    }
}

/* As in AMD's runtime, several attributes can only be read of managed memory and the host's, one of any memory. */
hipError_t hipMemRangeGetAttributes(void **out, size_t *out_bytes, hipMemRangeAttribute *which, size_t count,
                                    const void *pointer, size_t bytes)
{
    Allocation a;
    bool sound = out && out_bytes && which && count && pointer && bytes;
    for (size_t i = 0; sound && i < count; i++)
        sound = out[i] != NULL;
    sound = sound && allocation_find(pointer, &a) && (a.kind == ALLOCATION_MANAGED || a.kind == ALLOCATION_HOST);
    hipError_t error = sound ? hipSuccess : hipErrorInvalidValue;
    for (size_t i = 0; i < count && error == hipSuccess; i++)
        error = hipMemRangeGetAttribute(out[i], out_bytes[i], which[i], pointer, bytes);
    return answer(error);
}
