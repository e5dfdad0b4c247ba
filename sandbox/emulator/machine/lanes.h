/*
 * Sources and results of vector instructions. What is frequent is inlined here; lanes.c holds the slow paths: neg, abs,
 * clamp, SDWA and DPP.
 */
#ifndef AMDKERNEL_MACHINE_LANES_H
#define AMDKERNEL_MACHINE_LANES_H

#include "host/vectors.h"
#include "machine/machine.h"

SELDOM const u32 *source_uniform(const Wave *w, const Inst *i, int k, u32 *scratch_row);
SELDOM const u32 *source_slow(Wave *w, const Inst *i, int k, u32 *scratch_row);
SELDOM const u32 *source64_slow(Wave *w, const Inst *i, int k, u32 *scratch_row);
SELDOM const u32 *source_packed_slow(Wave *w, const Inst *i, int k, u32 *scratch_row);
/* Two f32 of each lane, wherever they lie. */
typedef struct { const u32 *low, *high; } Halves;
SELDOM Halves source_halves_slow(Wave *w, const Inst *i, int k, u32 *scratch_row);
SELDOM void put_slow(Wave *w, const Inst *i, const u32 *result);
SELDOM void put64_slow(Wave *w, const Inst *i, const u32 *result);
void put_mask(Wave *w, const Inst *i, u64 mask);
u64 write_mask(const Wave *w, const Inst *i);
/* The lanes that DPP lets read one of `lanes`. */
u64 dpp_moved(const Wave *w, const Inst *i, u64 lanes);

static inline u32 *vector(Wave *w, u32 operand) { return w->v[operand - FIRST_VGPR]; }

/* 64 values of a source of up to 32 bits; `scratch_row` holds 64 words. */
static inline const u32 *source(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    if (likely(i->how[k] == READ_PLAIN))
        return vector(w, i->source[k]);
    if (i->how[k] == READ_CONSTANT)
        return w->constants[i->splat[k]];
    return i->how[k] == READ_UNIFORM ? source_uniform(w, i, k, scratch_row) : source_slow(w, i, k, scratch_row);
}
/* 64 low words, then 64 high words; `scratch_row` holds 128. */
static inline const u32 *source64(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    if (likely(i->how[k] == READ_PLAIN))
        return vector(w, i->source[k]);
    return i->how[k] == READ_CONSTANT ? w->constants[i->splat[k]] : source64_slow(w, i, k, scratch_row);
}
static inline const u32 *source_packed(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    return likely(i->how[k] == READ_PLAIN) ? vector(w, i->source[k]) : source_packed_slow(w, i, k, scratch_row);
}

static inline Halves source_halves(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    if (likely(i->how[k] == READ_PLAIN))
        return (Halves){vector(w, i->source[k]), vector(w, i->upper[k])};
    return source_halves_slow(w, i, k, scratch_row);
}

/* `set` where a lane's bit is 1, else `clear`. */
static inline void choose(u32 *to, const u32 *clear, const u32 *set, u64 mask)
{
    for (int l = 0; l < LANES; l += 8)
        choose_eight(to + l, clear + l, set + l, mask >> l);
}

/* Store what active lanes computed. */
static inline void put_masked(u32 *to, const u32 *result, u64 mask)
{
    if (likely(mask == ~0ull))
        memcpy(to, result, LANES * sizeof *to);
    else
        choose(to, to, result, mask);
}

/* Store a result of one register, or of two, where it belongs. */
static inline void put(Wave *w, const Inst *i, const u32 *result)
{
    if (!i->modified)
        put_masked(vector(w, i->dst), result, exec_mask(w));
    else
        put_slow(w, i, result);
}
static inline void put64(Wave *w, const Inst *i, const u32 *result)
{
    if (!i->modified) {
        put_masked(vector(w, i->dst), result, exec_mask(w));
        put_masked(vector(w, i->dst + 1), result + LANES, exec_mask(w));
    } else {
        put64_slow(w, i, result);
    }
}

/* ---- the same where all lanes are active: rows are where decoding found them ---- */

static inline const u32 *source_row(const Wave *w, const Inst *i, int k)
{
    return (const u32 *)(w->bases[i->base[k]] + i->place[k]);
}
static inline Halves source_rows(const Wave *w, const Inst *i, int k)
{
    const u8 *base = w->bases[i->base[k]];
    return (Halves){(const u32 *)(base + i->place[k]), (const u32 *)(base + i->upper_place[k])};
}
/* A body computes straight into it, so it writes a lane only after it has read all that it needs of that lane. */
static inline u32 *result_row(const Wave *w, const Inst *i) { return (u32 *)((u8 *)w->v + i->result_place); }

#endif
