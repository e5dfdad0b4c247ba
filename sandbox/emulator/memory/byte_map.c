#include "memory/byte_map.h"

#include <string.h>
#include <sys/mman.h>

u8 *byte_map_create(u64 bytes)
{
    void *p = mmap(NULL, bytes / 8 + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void byte_map_destroy(u8 *map, u64 bytes)
{
    if (map)
        munmap(map, bytes / 8 + 1);
}

void byte_map_clear(u8 *map, u64 bytes)
{
    if (map)
        madvise(map, bytes / 8 + 1, MADV_DONTNEED);
}

static void set_bits(u8 *at, u8 mask, bool on)
{
    u8 now = __atomic_load_n(at, __ATOMIC_RELAXED);
    if (on && (now & mask) != mask)
        __atomic_fetch_or(at, mask, __ATOMIC_RELAXED);
    else if (!on && now & mask)
        __atomic_fetch_and(at, (u8)~mask, __ATOMIC_RELAXED);
}

/* The bits of the map's byte `k` that lie in low..high-1. */
static u8 mask_of(u64 k, u64 low, u64 high)
{
    u32 mask = 0xff;
    if (8 * k < low)
        mask &= 0xffu << (low - 8 * k);
    if (8 * k + 8 > high)
        mask &= 0xffu >> (8 * k + 8 - high);
    return (u8)mask;
}

void byte_map_set(u8 *map, u64 low, u64 high, bool on)
{
    if (low >= high)
        return;
    u64 first = low / 8, last = (high - 1) / 8;
    set_bits(&map[first], mask_of(first, low, high), on);
    if (last == first)
        return;
    memset(map + first + 1, on ? 0xff : 0, last - first - 1);
    set_bits(&map[last], mask_of(last, low, high), on);
}

bool byte_map_all(const u8 *map, u64 low, u64 high)
{
    u64 first = low / 8, last = (high - 1) / 8, k = first + 1;
    u8 head = mask_of(first, low, high), tail = mask_of(last, low, high);
    if (low >= high || (map[first] & head) != head || (map[last] & tail) != tail)
        return low >= high;
    for (u64 word; k + 8 <= last; k += 8) {
        memcpy(&word, map + k, 8);
        if (word != ~0ull)
            return false;
    }
    for (; k < last; k++)
        if (map[k] != 0xff)
            return false;
    return true;
}

u64 byte_map_missing(const u8 *map, u64 low, u64 high, u64 *first)
{
    u64 missing = 0;
    for (u64 k = low / 8; low < high && k <= (high - 1) / 8; k++) {
        u8 open = (u8)(~map[k] & mask_of(k, low, high));
        if (open && !missing)
            *first = 8 * k + (u64)__builtin_ctz(open);
        missing += (u64)__builtin_popcount(open);
    }
    return missing;
}
