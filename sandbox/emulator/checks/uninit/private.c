/*
 * Which bytes of its private memory each lane has written. As with other memory, a load of others is not a finding, but a
 * use of what it brought is: compilers reload registers on paths on which they have not saved them.
 */
#include "checks/uninit/private.h"

#include <stdlib.h>

#include "checks/uninit/registers.h"

enum { BLOCK = 16 }; /* the largest usual alignment of structs */

/* A bit for each byte of a dword, lane after lane, dword after dword; made at the wave's first access. */
static u8 *written_of(Wave *w)
{
    WaveShadow *s = shadow_of(w);
    if (!s->written)
        s->written = calloc(w->scratch_bytes / 4 + 1, LANES);
    return s->written;
}

void private_destroy(WaveShadow *s)
{
    free(s->written);
    s->written = NULL;
}

static bool is_written(const u8 *written, u32 lane, u32 at) { return written[at / 4 * LANES + lane] >> at % 4 & 1; }

/* The offset that all active lanes have, if it is that of whole dwords; else ~0. */
static u32 shared_offset(const u32 *offset, u64 active, u32 bytes)
{
    u32 first = offset[__builtin_ctzll(active)], differing = 0;
    for (u32 l = 0; l < LANES; l++)
        differing |= active >> l & 1 ? offset[l] ^ first : 0;
    return differing || (first | bytes) % 4 ? ~0u : first;
}

static void write_lanes(u8 *written, const u32 *offset, u64 active, u32 bytes)
{
    u32 first = shared_offset(offset, active, bytes);
    for (u32 at = first; first != ~0u && at < first + bytes; at += 4) {
        u8 *row = written + at / 4 * LANES;
        for (u32 l = 0; l < LANES; l++)
            row[l] |= active >> l & 1 ? ALL_BYTES : 0;
    }
    for (u32 l = 0; first == ~0u && l < LANES; l++)
        for (u32 at = offset[l]; active >> l & 1 && at < offset[l] + bytes; at++)
            written[at / 4 * LANES + l] |= (u8)(1 << at % 4);
}

static bool all_written(const u8 *written, const u32 *offset, u64 active, u32 bytes)
{
    u32 first = shared_offset(offset, active, bytes);
    bool all = true;
    for (u32 at = first; first != ~0u && at < first + bytes; at += 4) {
        const u8 *row = written + at / 4 * LANES;
        for (u32 l = 0; l < LANES; l++)
            all &= row[l] == ALL_BYTES || !(active >> l & 1);
    }
    for (u32 l = 0; first == ~0u && l < LANES; l++)
        for (u32 at = offset[l]; active >> l & 1 && at < offset[l] + bytes; at++)
            all &= is_written(written, l, at);
    return all;
}

/* The lane has written something of the struct that these bytes may belong to. */
static bool in_part(const Wave *w, const u8 *written, u32 lane, u32 offset, u32 bytes)
{
    u32 end = (offset + bytes + BLOCK - 1) / BLOCK * BLOCK;
    for (u32 at = offset / BLOCK * BLOCK; at < end && at < w->scratch_bytes; at++)
        if (is_written(written, lane, at))
            return true;
    return false;
}

static void load_lane(Wave *w, const Inst *i, const u8 *written, u32 lane, u32 offset, u32 bytes)
{
    Origin from = {.load = findings_place(w, i, OUTCOME_UNINITIALISED_READ, SPACE_SCRATCH, lane, offset, bytes, false)};
    u32 width = bytes < 4 ? bytes : 4, flags = in_part(w, written, lane, offset, bytes) ? PARTLY_DEFINED : 0;
    for (u32 k = 0; 4 * k < bytes; k++) {
        u32 bits = 0;
        for (u32 b = 0; b < width && 4 * k + b < bytes; b++)
            bits |= is_written(written, lane, offset + 4 * k + b) ? 0 : 0xffu << 8 * b;
        if (bits)
            uninit_load(w, i, &from, (u16)(i->dst + k), 1ull << lane, (Part){bits, undefined_if_all(bits, flags, width), width, 0, 0});
    }
}

void private_check(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    u8 *written = active ? written_of(w) : NULL;
    if (!written)
        return;
    bool load = !store && i->dst != 0xffff && !i->lds;
    for (u32 l = 0; load && !all_written(written, offset, active, bytes) && l < LANES; l++)
        if (active >> l & 1)
            load_lane(w, i, written, l, offset[l], bytes);
    if (store)
        write_lanes(written, offset, active, bytes);
}
