/*
 * How the bodies of vector rows read a lane of each type and put one back.
 * SOURCE_T(k) declares pk, the 64 lanes of source k; GET_T(pk, l) is lane l. SCRATCH_ROW_T declares r, the result;
 * PUT_T(l, x) sets lane l of it; STORE_T puts it where it belongs, STORE_MASK a bit per lane.
 */
#ifndef AMDKERNEL_LANE_TYPES_H
#define AMDKERNEL_LANE_TYPES_H

#include "host/vectors.h"
#include "machine/lane_math.h"
#include "machine/lanes.h"

#define SOURCE_32(k) const u32 *p##k = all_active ? source_row(w, i, k) : source(w, i, k, w->worker->scratch_row[k]);
#define SOURCE_64(k) const u32 *p##k = all_active ? source_row(w, i, k) : source64(w, i, k, w->worker->scratch_row[k]);
#define SOURCE_U32 SOURCE_32
#define SOURCE_I32 SOURCE_32
#define SOURCE_F32 SOURCE_32
#define SOURCE_U16 SOURCE_32
#define SOURCE_I16 SOURCE_32
#define SOURCE_F16 SOURCE_32
#define SOURCE_B16 SOURCE_32
#define SOURCE_BF16 SOURCE_32
#define SOURCE_U64 SOURCE_64
#define SOURCE_I64 SOURCE_64
#define SOURCE_F64 SOURCE_64

#define C_U32 u32
#define C_I32 i32
#define C_F32 float
#define C_U16 u16
#define C_I16 int16_t
#define C_F16 float
#define C_B16 u16
#define C_BF16 float
#define C_U64 u64
#define C_I64 i64
#define C_F64 double

#define GET_U32(p, l) (p[l])
#define GET_I32(p, l) ((i32)p[l])
#define GET_F32(p, l) f32_of(p[l])
#define GET_U16(p, l) ((u16)p[l])
#define GET_I16(p, l) ((int16_t)p[l])
#define GET_F16(p, l) f16_of((u16)p[l])
#define GET_B16(p, l) ((u16)p[l])
#define GET_BF16(p, l) bf16_of((u16)p[l])
#define GET_U64(p, l) pair(p[l], p[LANES + l])
#define GET_I64(p, l) ((i64)pair(p[l], p[LANES + l]))
#define GET_F64(p, l) f64_of(pair(p[l], p[LANES + l]))

#define SCRATCH_ROW_32 u32 *r = all_active ? result_row(w, i) : w->worker->scratch_row[LANE_SOURCES];
#define SCRATCH_ROW_64 SCRATCH_ROW_32
#define SCRATCH_ROW_U32 SCRATCH_ROW_32
#define SCRATCH_ROW_I32 SCRATCH_ROW_32
#define SCRATCH_ROW_F32 SCRATCH_ROW_32
#define SCRATCH_ROW_U16 SCRATCH_ROW_32
#define SCRATCH_ROW_I16 SCRATCH_ROW_32
#define SCRATCH_ROW_F16 SCRATCH_ROW_32
#define SCRATCH_ROW_U64 SCRATCH_ROW_64
#define SCRATCH_ROW_I64 SCRATCH_ROW_64
#define SCRATCH_ROW_F64 SCRATCH_ROW_64

#define PUT_U32(l, x) r[l] = (x)
#define PUT_I32(l, x) r[l] = (u32)(x)
#define PUT_F32(l, x) r[l] = bits_f32(x)
#define PUT_U16(l, x) r[l] = (u16)(x)
#define PUT_I16(l, x) r[l] = (u16)(x)
#define PUT_F16(l, x) r[l] = bits_f16(x)
#define PUT_U64(l, x) put_pair(r, l, x)
#define PUT_I64(l, x) put_pair(r, l, (u64)(x))
#define PUT_F64(l, x) put_pair(r, l, bits_f64(x))

static inline void put_pair(u32 *r, int l, u64 x)
{
    r[l] = (u32)x;
    r[LANES + l] = (u32)(x >> 32);
}

#define STORE_32 if (!all_active) put(w, i, r)
#define STORE_64 if (!all_active) put64(w, i, r)
#define STORE_MASK(mask) if (all_active) put_lane_bits(w, i->sdst, (mask) & w->all_lanes); else put_mask(w, i, mask)
#define STORE_U32 STORE_32
#define STORE_I32 STORE_32
#define STORE_F32 STORE_32
#define STORE_U16 STORE_32
#define STORE_I16 STORE_32
#define STORE_F16 STORE_32
#define STORE_U64 STORE_64
#define STORE_I64 STORE_64
#define STORE_F64 STORE_64

/* The types as rows name them, and the modifiers that they bring along. */
#define TYPE_B16 TYPE_F16
#define RESULT_MODS_U32 0
#define RESULT_MODS_I32 0
#define RESULT_MODS_F32 (MOD_CLAMP | MOD_OMOD)
#define RESULT_MODS_U16 0
#define RESULT_MODS_I16 0
#define RESULT_MODS_F16 (MOD_CLAMP | MOD_OMOD)
#define RESULT_MODS_U64 0
#define RESULT_MODS_I64 0
#define RESULT_MODS_F64 (MOD_CLAMP | MOD_OMOD)
#define SOURCE_MODS_U32 MOD_SEXT
#define SOURCE_MODS_I32 MOD_SEXT
#define SOURCE_MODS_F32 (MOD_NEG | MOD_ABS)
#define SOURCE_MODS_U16 MOD_SEXT
#define SOURCE_MODS_I16 MOD_SEXT
#define SOURCE_MODS_F16 (MOD_NEG | MOD_ABS)
#define SOURCE_MODS_B16 (MOD_NEG | MOD_ABS)
#define SOURCE_MODS_BF16 (MOD_NEG | MOD_ABS)
#define SOURCE_MODS_U64 0
#define SOURCE_MODS_I64 0
#define SOURCE_MODS_F64 (MOD_NEG | MOD_ABS)

/* A result may lie in a source's register, but never in another lane of it. Unrolled loops are not vectorised. */
#define EACH_LANE \
    _Pragma("clang loop vectorize(assume_safety) interleave_count(4) unroll(disable)") for (int l = 0; l < LANES; l++)
#pragma clang diagnostic ignored "-Wpass-failed" /* bodies that call the maths library stay loops */
#define HANDLER(name) static void name(Wave *w, const Inst *i)

/* A body that is built twice: as `name`, for every case; as `name`_all_active, where all lanes are active, every source lies
 * ready in a row and the result is stored as it is. */
#define LANE_HANDLER(name) \
    static inline __attribute__((always_inline)) void name##_body(Wave *w, const Inst *i, const bool all_active); \
    HANDLER(name) { name##_body(w, i, false); } \
    HANDLER(name##_all_active) { name##_body(w, i, true); } \
    static inline __attribute__((always_inline)) void name##_body(Wave *w, const Inst *i, const bool all_active)
enum { all_active = false }; /* of bodies that are built once */

#endif
