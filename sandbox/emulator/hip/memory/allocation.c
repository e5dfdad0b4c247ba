/* The list of blocks. Device, pinned host and managed memory are in the arena; registered memory is the program's. */
#include "hip/memory/allocation.h"

#include "hip/report/program_calls.h"

#include <stdlib.h>
#include <string.h>

static Allocation *blocks;
static size_t block_count, block_room;
static u64 in_use[MAX_DEVICES], last_id;
enum { LISTENERS = 2 }; /* ipc.c and work_races.c */
static AllocationEnded *listeners[LISTENERS];

static bool make_room(void)
{
    if (block_count < block_room)
        return true;
    size_t room = block_room ? 2 * block_room : 64;
    Allocation *more = realloc(blocks, room * sizeof *blocks);
    if (!more)
        return false;
    blocks = more;
    block_room = room;
    return true;
}

static bool is_ours(AllocationKind kind) { return kind != ALLOCATION_REGISTERED && kind != ALLOCATION_MAPPED; }

static void add(u64 address, size_t bytes, AllocationKind kind, u32 flags)
{
    int owner = runtime_device();
    blocks[block_count++] = (Allocation){.address = address, .bytes = bytes, .kind = kind, .flags = flags,
                                         .device = owner, .id = ++last_id};
    if (is_ours(kind))
        in_use[owner] += bytes;
}

/*
 * What hardware maps at once. Device memory comes from blocks of the HSA runtime's heap, other memory in pages with a page
 * behind them that faults. Allocations share blocks, so another allocation is usually in front of each one.
 * Source: ROCR-Runtime 6.4, hsa-runtime/core/inc/amd_memory_region.h (BlockAllocator: 2 MiB), util/simple_heap.h,
 * driver/kfd/amd_kfd_driver.cpp (AllocateMemory), libhsakmt/src/fmm.c (guard_pages).
 */
static u64 mapping_granule(AllocationKind kind)
{
    enum { PAGE = 4096, HEAP_BLOCK = 2 << 20 };
    if (!runtime()->options.overruns)
        return 1;
    return kind == ALLOCATION_DEVICE ? HEAP_BLOCK : PAGE;
}

hipError_t allocation_new(void **pointer, size_t bytes, AllocationKind kind, u32 flags)
{
    if (!pointer)
        return hipErrorInvalidValue;
    *pointer = NULL;
    if (!runtime()->options.devices)
        return hipErrorNoDevice;
    if (bytes == 0)
        return hipSuccess;
    hipError_t error = hipErrorOutOfMemory;
    runtime_lock();
    u64 left = runtime()->options.arena_bytes - in_use[runtime_device()];
    u64 address = bytes <= left && make_room() ? memory_allocate_mapped(runtime()->memory, bytes, mapping_granule(kind)) : 0;
    if (address) {
        add(address, bytes, kind, flags);
        if (kind == ALLOCATION_DEVICE) /* the host may have written other memory */
            memory_set_unset(runtime()->memory, address, bytes, true);
        *pointer = (void *)(uintptr_t)address;
        error = hipSuccess;
    }
    runtime_unlock();
    if (address)
        report_note_allocation(address);
    return error;
}

hipError_t allocation_adopt(void *host, size_t bytes, AllocationKind kind, u32 flags)
{
    hipError_t error = hipErrorOutOfMemory;
    runtime_lock();
    if (make_room())
        error = memory_adopt(runtime()->memory, (u64)(uintptr_t)host, bytes) ? hipSuccess
                                                                            : hipErrorHostMemoryAlreadyRegistered;
    if (error == hipSuccess)
        add((u64)(uintptr_t)host, bytes, kind, flags);
    runtime_unlock();
    return error;
}

/* Index of the block that holds `address`; block_count: none. The newest are tried first, as they are freed first. */
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

Allocation *allocation_locked(const void *pointer)
{
    size_t i = find((u64)(uintptr_t)pointer);
    return i < block_count ? &blocks[i] : NULL;
}

void allocation_count(int ordinal, i64 bytes)
{
    runtime_lock();
    in_use[ordinal] += (u64)bytes;
    runtime_unlock();
}

void allocation_on_end(AllocationEnded *listener)
{
    size_t k = 0;
    runtime_lock();
    while (k < LISTENERS && listeners[k] && listeners[k] != listener)
        k++;
    if (k < LISTENERS)
        listeners[k] = listener;
    runtime_unlock();
}

bool allocation_end(void *pointer)
{
    u64 address = (u64)(uintptr_t)pointer;
    runtime_lock();
    size_t i = find(address);
    bool known = i < block_count && blocks[i].address == address && memory_release(runtime()->memory, address);
    if (known) {
        for (size_t k = 0; k < LISTENERS && listeners[k]; k++)
            listeners[k](address, blocks[i].bytes);
        if (is_ours(blocks[i].kind))
            in_use[blocks[i].device] -= blocks[i].bytes;
        free(blocks[i].page_advice);
        memmove(&blocks[i], &blocks[i + 1], (--block_count - i) * sizeof *blocks);
    }
    runtime_unlock();
    return known;
}

u64 allocation_in_use(int ordinal)
{
    runtime_lock();
    u64 bytes = in_use[ordinal];
    runtime_unlock();
    return bytes;
}

u64 allocation_in_pool(const void *pool)
{
    u64 bytes = 0;
    runtime_lock();
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].pool == pool)
            bytes += blocks[i].bytes;
    runtime_unlock();
    return bytes;
}

void allocation_set_pool(const void *pointer, void *pool)
{
    runtime_lock();
    size_t i = find((u64)(uintptr_t)pointer);
    if (i < block_count)
        blocks[i].pool = pool;
    runtime_unlock();
}
