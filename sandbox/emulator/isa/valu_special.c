/* Vector ALU, the irregular part: carries, masks, lanes as scalars, division scaling. */
#include "host/quad.h"
#include "isa/lane_types.h"
#include "machine/fault.h"

/* ---- masks and lanes ---- */

LANE_HANDLER(v_cndmask_b32)
{
    SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32
    u64 mask = i->operands == 3 ? lane_bits(w, SGPR_VCC) : mask_source(w, i, 2); /* half of a dual one */
    choose(r, p0, p1, mask);
    STORE_32;
}

/* The lowest active lane, or lane 0 when none is. */
HANDLER(v_readfirstlane_b32)
{
    u64 exec = exec_mask(w);
    u32 lane = exec ? (u32)__builtin_ctzll(exec) : 0;
    w->s[i->sdst] = i->source[0] >= FIRST_VGPR ? vector(w, i->source[0])[lane] : scalar32(w, i, 0);
}
HANDLER(v_readlane_b32)
{
    u32 lane = scalar32(w, i, 1) % wave_lanes(w);
    w->s[i->sdst] = i->source[0] >= FIRST_VGPR ? vector(w, i->source[0])[lane] : scalar32(w, i, 0);
}
HANDLER(v_writelane_b32) { vector(w, i->dst)[scalar32(w, i, 1) % wave_lanes(w)] = scalar32(w, i, 0); }

/* Bits of a mask below each lane, counted on top of b. */
LANE_HANDLER(v_mbcnt_lo_u32_b32)
{
    SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32
    EACH_LANE r[l] = (u32)__builtin_popcount(p0[l] & (u32)(l < 32 ? (1ull << l) - 1 : 0xffffffff)) + p1[l];
    STORE_32;
}
LANE_HANDLER(v_mbcnt_hi_u32_b32)
{
    SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32
    EACH_LANE r[l] = (u32)__builtin_popcount(p0[l] & (u32)(l < 32 ? 0 : (1ull << (l - 32)) - 1)) + p1[l];
    STORE_32;
}

HANDLER(v_swap_b32)
{
    if (i->source[0] < FIRST_VGPR) {
        fault_not_emulated(w, i);
        return;
    }
    u32 *x = vector(w, i->dst), *y = vector(w, i->source[0]), old[LANES];
    u64 exec = exec_mask(w);
    memcpy(old, x, sizeof old);
    put_masked(x, y, exec);
    put_masked(y, old, exec);
}

/* Lane l of the source and lane l + distance of the result change places, for the lower half of each 2 * distance. */
static void swap_rows(Wave *w, const Inst *i, int distance)
{
    if (i->source[0] < FIRST_VGPR) {
        fault_not_emulated(w, i);
        return;
    }
    u32 *low = vector(w, i->source[0]), *high = vector(w, i->dst);
    EACH_LANE {
        if (l & distance)
            continue;
        bool here = lane_active(w, (u32)l), there = lane_active(w, (u32)(l + distance));
        if (here != there) { /* what a lane gets from an inactive one is not documented */
            fault_not_emulated(w, i);
            return;
        }
        u32 old = low[l];
        low[l] = here ? high[l + distance] : old;
        high[l + distance] = here ? old : high[l + distance];
    }
}
HANDLER(v_permlane16_swap_b32) { swap_rows(w, i, 16); }
HANDLER(v_permlane32_swap_b32) { swap_rows(w, i, 32); }

/* A byte of the old result, the one that b names, becomes a. */
HANDLER(v_cvt_pkaccum_u8_f32)
{
    SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32
    const u32 *old = vector(w, i->dst);
    EACH_LANE {
        u32 at = 8 * (p1[l] & 3);
        r[l] = (old[l] & ~(255u << at)) | u8_from(f32_of(p0[l])) << at;
    }
    put(w, i, r);
}

HANDLER(v_nop)
{
    (void)w;
    (void)i;
}

/* Any function of three bits. */
LANE_FUNCTION u32 bitop3(u32 a, u32 b, u32 c, u32 table)
{
    u32 r = 0;
    for (u32 k = 0; k < 8; k++)
        if (table >> k & 1)
            r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}
LANE_HANDLER(v_bitop3_b32)
{
    SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) SCRATCH_ROW_32
    EACH_LANE r[l] = bitop3(p0[l], p1[l], p2[l], i->bitop3);
    STORE_32;
}

/* Bytes of a and b, the same ones in every lane: four rows, each shifted by as much. */
static inline void take_bytes(const u32 *a, const u32 *b, u32 selectors, u32 *r)
{
    const u32 *row[4];
    u32 shift[4];
    for (u32 k = 0; k < 4; k++) {
        u32 selector = selectors >> 8 * k & 255;
        row[k] = selector & 4 ? a : b;
        shift[k] = 8 * (selector & 3);
    }
    EACH_LANE r[l] = (row[0][l] >> shift[0] & 255) | (row[1][l] >> shift[1] & 255) << 8 |
                     (row[2][l] >> shift[2] & 255) << 16 | row[3][l] >> shift[3] << 24;
}
LANE_HANDLER(v_perm_b32)
{
    enum { BEYOND_BYTES = 0xf8f8f8f8 }; /* selectors from 8 on mean signs and constants */
    SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) SCRATCH_ROW_32
    if (i->source[2] < FIRST_VGPR && !(p2[0] & BEYOND_BYTES))
        take_bytes(p0, p1, p2[0], r);
    else
        EACH_LANE r[l] = permute_bytes(p0[l], p1[l], p2[l]);
    STORE_32;
}

/* ---- carries: the mask result holds a bit per active lane ---- */

#define CARRY(name, sum, carry) \
    LANE_HANDLER(name) \
    { \
        SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32 \
        u64 in = i->source[2] == SOURCE_OFF ? 0 : mask_source(w, i, 2); \
        u8 out[LANES]; \
        EACH_LANE { \
            u32 a = p0[l], b = p1[l], c = in >> l & 1; \
            out[l] = (carry) != 0; \
            r[l] = sum; \
        } \
        STORE_32; \
        STORE_MASK(gather_bits(out)); \
    }
CARRY(v_add_co_u32, a + b + c, ((u64)a + b + c) >> 32)
CARRY(v_sub_co_u32, a - b - c, a < (u64)b + c)
CARRY(v_subrev_co_u32, b - a - c, b < (u64)a + c)

LANE_HANDLER(v_mad_u64_u32)
{
    SOURCE_32(0) SOURCE_32(1) SOURCE_64(2) SCRATCH_ROW_64
    u8 out[LANES];
    EACH_LANE {
        u64 product = (u64)p0[l] * p1[l];
        u32 low = (u32)product, high = (u32)(product >> 32), sum = low + p2[l], carry = sum < low;
        u32 upper = high + p2[LANES + l], over = upper < high;
        upper += carry;
        out[l] = (u8)(over | (upper < carry));
        r[l] = sum;
        r[LANES + l] = upper;
    }
    STORE_64;
    STORE_MASK(gather_bits(out));
}
LANE_HANDLER(v_mad_i64_i32)
{
    SOURCE_32(0) SOURCE_32(1) SOURCE_64(2) SCRATCH_ROW_64
    u64 out = 0;
    EACH_LANE {
        i64 sum;
        out |= (u64)__builtin_add_overflow((i64)(i32)p0[l] * (i32)p1[l], GET_I64(p2, l), &sum) << l;
        put_pair(r, l, (u64)sum);
    }
    STORE_64;
    STORE_MASK(out);
}

/* In halves, as registers hold them: address arithmetic is frequent, and joining halves to 64-bit lanes is slow. */
LANE_HANDLER(v_lshl_add_u64)
{
    SOURCE_64(0) SOURCE_32(1) SOURCE_64(2) SCRATCH_ROW_64
    EACH_LANE {
        u32 n = p1[l] & 63, low = p0[l], high = p0[LANES + l];
        u32 crossing = n < 32 ? low >> 1 >> (31 - n) : low << (n - 32);
        u32 shifted = n < 32 ? low << n : 0, sum = shifted + p2[l];
        u32 upper = (n < 32 ? high << n : 0) | crossing;
        upper += p2[LANES + l] + (sum < shifted);
        r[l] = sum;
        r[LANES + l] = upper;
    }
    STORE_64;
}

/* 16 bytes of sums of masked byte distances. */
HANDLER(v_mqsad_u32_u8)
{
    SOURCE_64(0) SOURCE_32(1)
    u32 r[4][LANES];
    for (int k = 0; k < 4; k++)
        EACH_LANE {
            u32 window = (u32)(GET_U64(p0, l) >> 8 * k), c;
            c = i->source[2] >= FIRST_VGPR ? vector(w, i->source[2] + (u32)k)[l] : scalar32(w, i, 2);
            r[k][l] = plus(c, sad_bytes(p1[l], window, true), i->clamp);
        }
    for (u32 k = 0; k < 4; k++)
        put_masked(vector(w, i->dst + k), r[k], exec_mask(w));
}

/* ---- division: a is scaled so that b / c neither overflows nor loses bits; the mask says whether to undo it ---- */

/* The scale of a as a power of two. Source: CDNA3 ISA, DIV_SCALE; a huge divisor is scaled down, not up. */
LANE_FUNCTION int scale_of(bool is_divisor, bool is_dividend, int gap_, int dividend_exponent, bool divisor_tiny,
                    bool reciprocal_tiny, bool quotient_tiny, int step, int far, int near, bool *undo)
{
    *undo = false;
    if (gap_ >= far) {
        *undo = true;
        return is_divisor ? step : 0;
    }
    if (divisor_tiny)
        return step;
    if (reciprocal_tiny && quotient_tiny) {
        *undo = true;
        return is_divisor ? -step : 0;
    }
    if (reciprocal_tiny)
        return -step;
    if (quotient_tiny) {
        *undo = true;
        return is_dividend ? step : 0;
    }
    return dividend_exponent <= near ? step : 0;
}

LANE_FUNCTION float div_scale_f32(float a, float b, float c, bool *undo)
{
    *undo = false;
    if (b == 0 || c == 0)
        return NAN;
    double q = fabs((double)c / (double)b);
    int n = scale_of(bits_f32(a) == bits_f32(b), bits_f32(a) == bits_f32(c), exponent32(c) - exponent32(b),
                     exponent32(c), exponent32(b) == 0, 1 / fabs((double)b) < 0x1p-126, q < 0x1p-126, 64, 96, 23, undo);
    return scaled_f32(a, n);
}
LANE_FUNCTION double div_scale_f64(double a, double b, double c, bool *undo)
{
    *undo = false;
    if (b == 0 || c == 0)
        return NAN;
    int n = scale_of(bits_f64(a) == bits_f64(b), bits_f64(a) == bits_f64(c), exponent64(c) - exponent64(b),
                     exponent64(c), exponent64(b) == 0, 1 / fabs(b) < 0x1p-1022, fabs(c / b) < 0x1p-1022, 128, 768, 53,
                     undo);
    return ldexp(a, n);
}

#define DIV_SCALE(name, T) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##T(0) SOURCE_##T(1) SOURCE_##T(2) SCRATCH_ROW_##T \
        u64 out = 0; \
        EACH_LANE { \
            bool undo; \
            PUT_##T(l, (name##_lane(GET_##T(p0, l), GET_##T(p1, l), GET_##T(p2, l), &undo))); \
            out |= (u64)undo << l; \
        } \
        STORE_##T; \
        STORE_MASK(out); \
    }
#define v_div_scale_f32_lane div_scale_f32
#define v_div_scale_f64_lane div_scale_f64
DIV_SCALE(v_div_scale_f32, F32)
DIV_SCALE(v_div_scale_f64, F64)

/* fma, and the scale of DIV_SCALE undone where VCC says so: down if the estimate c is small. */
LANE_HANDLER(v_div_fmas_f32)
{
    SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) SCRATCH_ROW_32
    u64 vcc = lane_bits(w, SGPR_VCC);
    EACH_LANE {
        float a = GET_F32(p0, l), b = GET_F32(p1, l), c = GET_F32(p2, l);
        double sum = add_to_odd((double)a * (double)b, c);
        int n = vcc >> l & 1 ? (exponent32(c) > 127 ? 64 : -64) : 0;
        r[l] = bits_f32(n ? scaled_f32(sum, n) : __builtin_fmaf(a, b, c));
    }
    STORE_32;
}
/* Rounded once, also where it becomes a denormal. */
LANE_FUNCTION double scaled_sum(double a, double b, double c, int n)
{
    return (double)(((Quad)a * b + c) * (n > 0 ? 0x1p128 : 0x1p-128));
}
LANE_HANDLER(v_div_fmas_f64)
{
    SOURCE_64(0) SOURCE_64(1) SOURCE_64(2) SCRATCH_ROW_64
    u64 vcc = lane_bits(w, SGPR_VCC);
    EACH_LANE {
        double a = GET_F64(p0, l), b = GET_F64(p1, l), c = GET_F64(p2, l);
        int n = vcc >> l & 1 ? (exponent64(c) > 1023 ? 128 : -128) : 0;
        PUT_F64(l, n ? scaled_sum(a, b, c, n) : fma(a, b, c));
    }
    STORE_64;
}

/* ---- rows ---- */

#define ROW(name, in, D, A, B, C, mods) \
    {.mnemonic = #name, .run = name, .layout = in, .family = FAMILY_VALU, .result = TYPE_##D, \
     .source = {TYPE_##A, TYPE_##B, TYPE_##C}, .modifiers = mods}
/* Bodies that are built twice; of `n` sources a row of lanes each. */
#define LANE_ROW(text, name, n, in, D, A, B, C, mods) \
    {.mnemonic = text, .run = name, .all_active = name##_all_active, .layout = in, .family = FAMILY_VALU, .result = TYPE_##D, \
     .source = {TYPE_##A, TYPE_##B, TYPE_##C}, .lane_sources = n, .modifiers = mods}
#define SIGNS (MOD_NEG | MOD_ABS)
enum { KEEPS_HALF = 0xff }; /* detail[0]: the other half of the result stays */
#define ANYWHERE (MOD_SDWA | MOD_DPP | MOD_SEXT)

static const Row rows[] = {
    ROW(v_nop, "*", NONE, NONE, NONE, NONE, 0),
    LANE_ROW("v_cndmask_b32", v_cndmask_b32, 2, "d012|d01", U32, F32, F32, U64, SIGNS | MOD_SDWA | MOD_DPP),
    ROW(v_readfirstlane_b32, "s0", U32, U32, NONE, NONE, 0), ROW(v_readlane_b32, "s01", U32, U32, U32, NONE, 0),
    ROW(v_writelane_b32, "d01", U32, U32, U32, NONE, 0),
    LANE_ROW("v_perm_b32", v_perm_b32, 3, "d012", U32, U32, U32, U32, MOD_SEXT | MOD_DPP),
    LANE_ROW("v_mbcnt_lo_u32_b32", v_mbcnt_lo_u32_b32, 2, "d01", U32, U32, U32, NONE, 0), LANE_ROW("v_mbcnt_hi_u32_b32", v_mbcnt_hi_u32_b32, 2, "d01", U32, U32, U32, NONE, 0),
    ROW(v_swap_b32, "d0", U32, U32, NONE, NONE, 0),
    ROW(v_permlane16_swap_b32, "d0", U32, U32, NONE, NONE, 0), ROW(v_permlane32_swap_b32, "d0", U32, U32, NONE, NONE, 0),
    ROW(v_cvt_pkaccum_u8_f32, "d01", U32, F32, U32, NONE, SIGNS),
    LANE_ROW("v_bitop3_b32", v_bitop3_b32, 3, "d012", U32, U32, U32, U32, MOD_BITOP3),
    {.mnemonic = "v_bitop3_b16", .run = v_bitop3_b32, .all_active = v_bitop3_b32_all_active, .lane_sources = 3, .layout = "d012", .family = FAMILY_VALU, .result = TYPE_U16,
     .source = {TYPE_U16, TYPE_U16, TYPE_U16}, .modifiers = MOD_BITOP3 | MOD_OP_SEL, .detail = {KEEPS_HALF}},
    LANE_ROW("v_add_co_u32", v_add_co_u32, 2, "ds01", U32, U32, U32, NONE, ANYWHERE), LANE_ROW("v_sub_co_u32", v_sub_co_u32, 2, "ds01", U32, U32, U32, NONE, ANYWHERE),
    LANE_ROW("v_subrev_co_u32", v_subrev_co_u32, 2, "ds01", U32, U32, U32, NONE, ANYWHERE),
    LANE_ROW("v_addc_co_u32", v_add_co_u32, 2, "ds012", U32, U32, U32, U64, ANYWHERE),
    LANE_ROW("v_subb_co_u32", v_sub_co_u32, 2, "ds012", U32, U32, U32, U64, ANYWHERE),
    LANE_ROW("v_subbrev_co_u32", v_subrev_co_u32, 2, "ds012", U32, U32, U32, U64, ANYWHERE),
    LANE_ROW("v_mad_u64_u32", v_mad_u64_u32, 3, "ds012", U64, U32, U32, U64, 0), LANE_ROW("v_mad_i64_i32", v_mad_i64_i32, 3, "ds012", I64, I32, I32, I64, 0),
    LANE_ROW("v_lshl_add_u64", v_lshl_add_u64, 3, "d012", U64, U64, U32, U64, 0),
    ROW(v_mqsad_u32_u8, "d012", WIDE, U64, U32, U32, MOD_CLAMP),
    LANE_ROW("v_div_scale_f32", v_div_scale_f32, 3, "ds012", F32, F32, F32, F32, SIGNS), LANE_ROW("v_div_scale_f64", v_div_scale_f64, 3, "ds012", F64, F64, F64, F64, SIGNS),
    LANE_ROW("v_div_fmas_f32", v_div_fmas_f32, 3, "d012", F32, F32, F32, F32, SIGNS | MOD_CLAMP | MOD_OMOD),
    LANE_ROW("v_div_fmas_f64", v_div_fmas_f64, 3, "d012", F64, F64, F64, F64, SIGNS | MOD_CLAMP | MOD_OMOD),
};

const RowTable isa_valu_special = {rows, sizeof rows / sizeof *rows};
