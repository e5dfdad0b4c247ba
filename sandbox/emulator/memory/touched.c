/* Which bytes kernels have loaded, and which they have stored since the run of launches began. */
#include "memory/arena.h"
#include "memory/byte_map.h"

bool memory_track_touched(Memory *m)
{
    m->loaded = byte_map_create(m->bytes);
    m->stored = byte_map_create(m->bytes);
    return m->loaded && m->stored;
}

/* The range as offsets in the arena; false: it lies elsewhere, or nothing is tracked. */
static bool offsets(const Memory *m, u64 address, u64 bytes, u64 *low, u64 *high)
{
    *low = address - (u64)m->arena;
    *high = *low + bytes;
    return m->loaded && m->stored && *low < m->bytes && bytes <= m->bytes - *low;
}

void memory_touch(Memory *m, u64 address, u64 bytes, bool store)
{
    u64 low, high;
    if (offsets(m, address, bytes, &low, &high))
        byte_map_set(store ? m->stored : m->loaded, low, high, true);
}

void memory_touch_lanes(Memory *m, const u64 *address, u64 active, u32 bytes, bool store)
{
    u8 *map = store ? m->stored : m->loaded;
    u32 whole = bytes < 8 ? (1u << bytes) - 1 : 0xff;
    for (u64 left = map ? active : 0; left; left &= left - 1) {
        u64 at = address[__builtin_ctzll(left)], low = at - (u64)m->arena, k = low / 8;
        u32 mask = whole << low % 8;
        bool known = low < m->bytes && bytes <= 8 && mask < 0x100 && (__atomic_load_n(&map[k], __ATOMIC_RELAXED) & mask) == mask;
        if (!known)
            memory_touch(m, at, bytes, store);
    }
}

bool memory_all_touched(const Memory *m, u64 address, u64 bytes, bool store)
{
    u64 low, high;
    return !offsets(m, address, bytes, &low, &high) || byte_map_all(store ? m->stored : m->loaded, low, high);
}

void memory_forget_touched(Memory *m)
{
    byte_map_clear(m->loaded, m->bytes);
    byte_map_clear(m->stored, m->bytes);
}

bool memory_untouched(const Memory *m, u64 address, u64 bytes, bool store, u64 *count, u64 *first)
{
    u64 low, high, at = 0;
    if (!offsets(m, address, bytes, &low, &high))
        return false;
    *count = byte_map_missing(store ? m->stored : m->loaded, low, high, &at);
    *first = *count ? at - low : 0;
    return true;
}
