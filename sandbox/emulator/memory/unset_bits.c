/*
 * Bytes of which only some bits are unset: bit-fields that kernels set one by one. They are few, and stand in a table;
 * the map of bytes has them as unset.
 */
#include <stdlib.h>

#include "memory/arena.h"

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
        memory_mark_unset(m, address, 1);
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

void memory_forget_unset_bits(Memory *m, u64 address, u64 bytes)
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
