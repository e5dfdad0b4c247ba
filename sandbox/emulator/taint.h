/* Marks on registers: which bytes of which lanes of them are unset. */
#ifndef AMDKERNEL_TAINT_H
#define AMDKERNEL_TAINT_H

#include "shadow.h"
#include "watch.h"

/* Bytes of a register, a bit each; or what is unset as a whole alone. */
enum { LOWER = 3, UPPER = 12, ALL_BYTES = 15, WHOLE_ALONE = 16 };

/* Lanes of which one of these bytes is unset. */
static inline u64 unset_in(const Taint *t, u32 reg, u32 bytes)
{
    const u64 *byte = t->byte[reg];
    if (bytes & WHOLE_ALONE)
        return byte[0] & byte[1] & byte[2] & byte[3];
    return (bytes & 1 ? byte[0] : 0) | (bytes & 2 ? byte[1] : 0) | (bytes & 4 ? byte[2] : 0) | (bytes & 8 ? byte[3] : 0);
}

static inline u64 lanes_of(const Taint *t, u32 reg) { return unset_in(t, reg, ALL_BYTES); }

static inline void mark(Taint *t, u32 reg, u32 bytes, u64 lanes, u8 origin)
{
    if (!bytes || !lanes)
        return;
    t->live += !lanes_of(t, reg);
    for (u32 b = 0; b < 4; b++)
        t->byte[reg][b] |= bytes >> b & 1 ? lanes : 0;
    t->origin[reg] = origin;
}

static inline void clear(Taint *t, u32 reg, u32 bytes, u64 lanes)
{
    bool before = lanes_of(t, reg);
    for (u32 b = 0; b < 4; b++)
        t->byte[reg][b] &= ~(bytes >> b & 1 ? lanes : 0);
    t->live -= before && !lanes_of(t, reg);
}

static inline bool is_half_type(u8 type)
{
    return type == TYPE_U16 || type == TYPE_I16 || type == TYPE_F16 || type == TYPE_BF16;
}

/* Which bytes of its register a memory instruction moves, of `bytes` in memory. */
static inline u32 moved_bytes(const Inst *i, u32 bytes)
{
    u32 lower = bytes < 4 ? (1u << bytes) - 1 : ALL_BYTES;
    return strstr(i->row->mnemonic, "d16_hi") ? lower << 2 & ALL_BYTES : lower;
}

/* Something depends on these lanes of a register: tell where they were loaded. */
static inline void used(Wave *w, const Inst *i, Taint *t, u32 reg)
{
    const Origin *from = &t->origins.known[t->origin[reg]];
    Place here = place_in_code(w, i);
    report_finding(w, &from->load, from->use.at ? &from->use : &here);
    clear(t, reg, ALL_BYTES, ~0ull);
}

/* taint_bytes.c: takes bits of a dword out or puts them in, so that the rest may be padding. */
bool takes_parts(const Inst *i);
/* Bytes of source `k` that byte `result` of the result depends on, or WHOLE_ALONE. */
u32 bytes_read(const Wave *w, const Inst *i, u32 k, u32 result);
/* Bytes of its register that SDWA puts a result into. */
u32 sdwa_bytes(const Inst *i);

#endif
