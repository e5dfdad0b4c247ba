/* Marks on registers: which bytes of which lanes of them are unset. */
#ifndef AMDKERNEL_TAINT_H
#define AMDKERNEL_TAINT_H

#include "shadow.h"
#include "watch.h"

/* In place of bytes: what is unset as a whole alone. */
enum { WHOLE_ALONE = 64 };

/* Lanes of which one of these bytes is unset. */
static inline u64 unset_in(const Taint *t, u32 reg, u32 bytes)
{
    const u64 *byte = t->plane[reg];
    if (bytes & WHOLE_ALONE)
        return byte[0] & byte[1] & byte[2] & byte[3];
    return (bytes & 1 ? byte[0] : 0) | (bytes & 2 ? byte[1] : 0) | (bytes & 4 ? byte[2] : 0) | (bytes & 8 ? byte[3] : 0);
}

static inline u64 lanes_of(const Taint *t, u32 reg) { return unset_in(t, reg, ALL_BYTES); }

/* Lanes of which all of these bytes are unset. */
static inline u64 all_unset_in(const Taint *t, u32 reg, u32 bytes)
{
    u64 lanes = bytes & WHOLE_ALONE ? unset_in(t, reg, WHOLE_ALONE) : ~0ull;
    for (u32 b = 0; b < 4; b++)
        lanes &= bytes >> b & 1 ? t->plane[reg][b] : ~0ull;
    return lanes;
}

/* Lanes of which nothing that was set is in a register. */
static inline u64 unset_alone(const Taint *t, u32 reg) { return unset_in(t, reg, WHOLE_ALONE) | t->plane[reg][PLANE_BLANK]; }

/* Lanes without an unset byte have no other planes either: those must be marked last. */
static inline void mark(Taint *t, u32 reg, u32 planes, u64 lanes, u8 origin)
{
    u64 before = lanes_of(t, reg);
    if (!(planes & ALL_BYTES))
        lanes &= before;
    if (!planes || !lanes)
        return;
    t->live += !before;
    for (u32 p = 0; p < PLANES; p++)
        t->plane[reg][p] |= planes >> p & 1 ? lanes : 0;
    t->origin[reg] = origin;
}

/* What is set in part is no longer what it was. */
static inline void clear(Taint *t, u32 reg, u32 bytes, u64 lanes)
{
    bool before = lanes_of(t, reg);
    for (u32 p = 0; p < PLANES; p++)
        t->plane[reg][p] &= ~((bytes | BLANK | MIXED) >> p & 1 ? lanes : 0);
    t->live -= before && !lanes_of(t, reg);
}

static inline u32 planes_of_lane(const Taint *t, u32 reg, u32 lane)
{
    u32 planes = 0;
    for (u32 p = 0; p < PLANES; p++)
        planes |= (u32)(t->plane[reg][p] >> lane & 1) << p;
    return planes;
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
