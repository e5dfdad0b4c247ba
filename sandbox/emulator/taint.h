/* Marks on registers: which lanes of them hold unset values. */
#ifndef AMDKERNEL_TAINT_H
#define AMDKERNEL_TAINT_H

#include "shadow.h"
#include "watch.h"

static inline u64 lanes_of(const Taint *t, u32 reg) { return t->whole[reg] | t->half[0][reg] | t->half[1][reg] | t->part[reg]; }

static inline void mark(Taint *t, u32 reg, u64 whole, u64 part, u8 origin)
{
    bool before = lanes_of(t, reg);
    t->whole[reg] |= whole;
    t->part[reg] |= part;
    if (whole | part)
        t->origin[reg] = origin;
    t->live += !before && (whole | part);
}

static inline void clear(Taint *t, u32 reg, u64 lanes)
{
    bool before = lanes_of(t, reg);
    t->whole[reg] &= ~lanes;
    t->half[0][reg] &= ~lanes;
    t->half[1][reg] &= ~lanes;
    t->part[reg] &= ~lanes;
    t->live -= before && !lanes_of(t, reg);
}

/* Of a register, the lower or the upper half, both, or none; or what is unset as a whole alone. */
enum { NO_HALF, LOWER, UPPER, BOTH, WHOLE_ALONE };

/* Both: as a whole. One: the other stays as it is. */
static inline void mark_halves(Taint *t, u32 reg, u32 halves, u64 lanes, u8 origin)
{
    if (halves == BOTH) {
        mark(t, reg, lanes, 0, origin);
    } else if (halves && lanes) {
        u64 *here = &t->half[halves == UPPER][reg], *there = &t->half[halves == LOWER][reg], full = lanes & *there;
        t->live += !lanes_of(t, reg);
        *here |= lanes & ~full & ~t->whole[reg];
        *there &= ~full;
        t->whole[reg] |= full;
        t->origin[reg] = origin;
    }
}

static inline void clear_halves(Taint *t, u32 reg, u32 halves, u64 lanes)
{
    u64 other = t->whole[reg] & lanes;
    bool before = lanes_of(t, reg);
    if (halves == BOTH) {
        clear(t, reg, lanes);
    } else if (halves) {
        t->whole[reg] &= ~lanes;
        t->half[halves == LOWER][reg] |= other;
        t->half[halves == UPPER][reg] &= ~lanes;
        t->live -= before && !lanes_of(t, reg);
    }
}

static inline u64 unset_in(const Taint *t, u32 reg, u32 halves)
{
    return t->whole[reg] | (halves & LOWER ? t->half[0][reg] : 0) | (halves & UPPER ? t->half[1][reg] : 0);
}

/* Which halves of its register a memory instruction loads or stores. */
static inline u32 moved_halves(const Inst *i, u32 bytes)
{
    const char *name = i->row->mnemonic;
    if (strstr(name, "d16"))
        return strstr(name, "hi") ? UPPER : LOWER;
    return bytes < 4 && i->row->detail[2] == ACCESS_STORE ? LOWER : BOTH;
}

/* Something depends on these lanes of a register: tell where they were loaded. */
static inline void used(Wave *w, const Inst *i, Taint *t, u32 reg)
{
    const Origin *from = &t->origins.known[t->origin[reg]];
    Place here = place_in_code(w, i);
    report_finding(w, &from->load, from->use.at ? &from->use : &here);
    clear(t, reg, ~0ull);
}

#endif
