/*
 * Which memory nothing has written yet. A map has one bit for each byte of the arena. A byte in which some
 * bits are set and others not (bit-fields that kernels set one by one) counts as unset in the map, and a table holds its
 * unset bits: such bytes are few.
 */
#include <stdlib.h>

#include "memory/arena.h"
#include "memory/byte_map.h"

/* ---- bytes ---- */

bool memory_track_unset(Memory *m)
{
    m->unset = byte_map_create(m->bytes);
    return m->unset;
}

static void set_range(Memory *m, u64 address, u64 bytes, bool unset)
{
    u64 low = address - (u64)m->arena, high = low + bytes;
    if (!m->unset || !bytes || low >= m->bytes || bytes > m->bytes - low)
        return;
    byte_map_set(m->unset, low, high, unset);
}

static void mark_unset(Memory *m, u64 address, u64 bytes) { set_range(m, address, bytes, true); }

/* ---- bits of bytes ---- */

enum { FIRST_ROOM = 1 << 10, MOST_ROOM = 1 << 20, FEW = 16, WHOLE = 0xff };

/* A byte that was set since, or is unset as a whole again, keeps its place: who asks looks at the map first. */
static PartialByte *place_of_byte(PartialByte *table, u32 room, u64 address)
{
    u32 at = (u32)((address * 0x9e3779b97f4a7c15ull) >> 40) % room;
    while (table[at].address && table[at].address != address)
        at = (at + 1) % room;
    return &table[at];
}

static bool grow(Memory *m)
{
    u32 room = m->partial_room ? 2 * m->partial_room : FIRST_ROOM;
    PartialByte *table = room > MOST_ROOM ? NULL : calloc(room, sizeof *table);
    if (!table)
        return false;
    for (u32 k = 0; k < m->partial_room; k++)
        if (m->partial[k].address)
            *place_of_byte(table, room, m->partial[k].address) = m->partial[k];
    free(m->partial);
    m->partial = table;
    m->partial_room = room;
    return true;
}

static bool keep(Memory *m, u64 address, u8 bits)
{
    if (2 * m->partial_count >= m->partial_room && !grow(m))
        return false;
    PartialByte *place = place_of_byte(m->partial, m->partial_room, address);
    m->partial_count += !place->address;
    *place = (PartialByte){address, bits};
    return true;
}

/* Where there is no room for more, the byte counts as set. */
void memory_set_unset_bits(Memory *m, u64 address, u8 bits)
{
    bool kept = false;
    if (bits && bits != WHOLE) {
        pthread_mutex_lock(&m->partial_lock);
        kept = keep(m, address, bits);
        pthread_mutex_unlock(&m->partial_lock);
    }
    if (kept)
        mark_unset(m, address, 1);
    else
        memory_set_unset(m, address, 1, bits == WHOLE);
}

u8 memory_unset_bits(Memory *m, u64 address)
{
    u8 bits = WHOLE;
    if (!__atomic_load_n(&m->partial_count, __ATOMIC_RELAXED))
        return bits;
    pthread_mutex_lock(&m->partial_lock);
    const PartialByte *place = place_of_byte(m->partial, m->partial_room, address);
    bits = place->address ? place->bits : bits;
    pthread_mutex_unlock(&m->partial_lock);
    return bits;
}

static void forget_unset_bits(Memory *m, u64 address, u64 bytes)
{
    if (!__atomic_load_n(&m->partial_count, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&m->partial_lock);
    for (u32 k = 0; bytes <= FEW && k < bytes; k++)
        place_of_byte(m->partial, m->partial_room, address + k)->bits = WHOLE;
    for (u32 k = 0; bytes > FEW && k < m->partial_room; k++)
        if (m->partial[k].address - address < bytes)
            m->partial[k].bits = WHOLE;
    pthread_mutex_unlock(&m->partial_lock);
}

/* ---- both ---- */

void memory_set_unset(Memory *m, u64 address, u64 bytes, bool unset)
{
    set_range(m, address, bytes, unset);
    if (unset)
        forget_unset_bits(m, address, bytes);
}

u64 memory_unset(const Memory *m, u64 address, u32 bytes)
{
    u64 offset = address - (u64)m->arena, found = 0;
    if (!m->unset || offset >= m->bytes || bytes > m->bytes - offset)
        return 0;
    const u8 *bits = m->unset + offset / 8;
    for (u32 k = 0; k <= (offset % 8 + bytes - 1) / 8; k++)
        if (bits[k])
            for (u32 b = 0; b < 8; b++)
                if (bits[k] >> b & 1 && 8 * k + b >= offset % 8 && 8 * k + b - offset % 8 < bytes)
                    found |= 1ull << (8 * k + b - offset % 8);
    return found;
}

bool memory_any_unset(const Memory *m, u64 address, u64 bytes)
{
    u64 offset = address - (u64)m->arena;
    if (!m->unset || offset >= m->bytes || bytes > m->bytes - offset)
        return false;
    for (u64 at = offset / 8; at <= (offset + bytes - 1) / 8;) {
        u64 word;
        if (at % 8 == 0 && at + 8 <= (offset + bytes - 1) / 8) {
            memcpy(&word, m->unset + at, 8);
            at += 8;
        } else {
            word = m->unset[at++];
        }
        if (word)
            return true;
    }
    return false;
}

void memory_copy_unset(Memory *m, u64 to, u64 from, u64 bytes)
{
    bool any = memory_any_unset(m, from, bytes);
    for (u64 k = 0; any && k < bytes; k++)
        memory_set_unset_bits(m, to + k, memory_unset(m, from + k, 1) ? memory_unset_bits(m, from + k) : 0);
    if (!any)
        memory_set_unset(m, to, bytes, false);
}
