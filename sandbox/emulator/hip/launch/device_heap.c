/*
 * The heap of malloc in kernels: the device libraries manage it, and ask for blocks by hostcall.
 * Source: ROCm device libraries, ockl/src/dm.cl: a heap structure of all zeros is an empty heap; large allocations are
 * aligned to a page, which distinguishes them from small ones, and slabs to 2 MiB.
 */
#include "hip/launch/device_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRUCTURE_BYTES = 128 << 10, SLAB = 2 << 20, PAGE = 4096 };

typedef struct {
    u64 address, bytes;
} Piece;

static u64 start, end;  /* of the region that blocks come from; its structure is in front of it */
static Piece *blocks;   /* in use, by address */
static size_t block_count, block_room;

u64 device_heap(void)
{
    if (start)
        return start - STRUCTURE_BYTES;
    u64 bytes = runtime()->options.arena_bytes / 4 < DEVICE_HEAP_BYTES ? runtime()->options.arena_bytes / 4 : DEVICE_HEAP_BYTES;
    u64 block = memory_allocate(runtime()->memory, bytes);
    if (!block) {
        fputs("amdkernel emulator: no device memory for the heap of malloc in kernels\n", stderr);
        return 0;
    }
    start = (block + STRUCTURE_BYTES + SLAB - 1) / SLAB * SLAB;
    end = block + bytes;
    memset((void *)(uintptr_t)(start - STRUCTURE_BYTES), 0, STRUCTURE_BYTES);
    return start - STRUCTURE_BYTES;
}

void device_heap_bounds(u64 *address, u64 *bytes)
{
    *address = start ? start - STRUCTURE_BYTES : 0;
    *bytes = start ? end - *address : 0;
}

/* The first gap between two blocks that is large enough. */
static u64 find_place(u64 bytes, u64 alignment, size_t *before)
{
    u64 at = start;
    for (size_t i = 0; i <= block_count; i++) {
        u64 limit = i < block_count ? blocks[i].address : end, from = (at + alignment - 1) / alignment * alignment;
        if (from + bytes <= limit && from + bytes > from) {
            *before = i;
            return from;
        }
        if (i < block_count)
            at = blocks[i].address + blocks[i].bytes;
    }
    return 0;
}

u64 device_heap_allocate(u64 bytes)
{
    size_t i;
    u64 address = start ? find_place(bytes, bytes >= SLAB ? SLAB : PAGE, &i) : 0;
    if (!address)
        return 0;
    if (block_count == block_room) {
        Piece *more = realloc(blocks, (2 * block_room + 64) * sizeof *blocks);
        if (!more)
            return 0;
        blocks = more;
        block_room = 2 * block_room + 64;
    }
    memmove(&blocks[i + 1], &blocks[i], (block_count++ - i) * sizeof *blocks);
    blocks[i] = (Piece){address, bytes};
    if (bytes >= SLAB) /* a slab's list of free blocks must start as zeros */
        memset((void *)(uintptr_t)address, 0, bytes);
    return address;
}

void device_heap_release(u64 address)
{
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].address == address) {
            memmove(&blocks[i], &blocks[i + 1], (--block_count - i) * sizeof *blocks);
            return;
        }
    fputs("amdkernel emulator: a kernel frees memory that it did not allocate\n", stderr);
}
