/*
 * Conversions between floats of 32 or 16 bits and those of 8, 6 or 4: plain, with a scale, and with stochastic rounding.
 *
 * The scale is the exponent field of an f32: widening multiplies by 2^(field - 127), narrowing divides. op_sel names the
 * half or the byte that one or two narrow values fill or are read from; what is not written stays.
 * Source: CDNA4 ISA, "VOP3 instructions", V_CVT_SCALEF32_* and V_CVT_SR_*.
 */
#include "isa/convert.h"

#include "isa/lane_types.h"
#include "machine/fault.h"

/* ---- 8-bit floats ---- */

static Float8 fp8(const Wave *w) { return w->program->ocp_float8 ? FP8_OCP : FP8_FNUZ; }
static Float8 bf8(const Wave *w) { return w->program->ocp_float8 ? BF8_OCP : BF8_FNUZ; }

/* MODE.FP16_OVFL: overflow gives the largest value instead of NaN or infinity. */
static bool saturates(const Wave *w) { return w->mode & MODE_FP16_OVERFLOW; }

#define FROM_F8(name, format) \
    HANDLER(name) \
    { \
        SOURCE_32(0) SCRATCH_ROW_32 \
        EACH_LANE r[l] = bits_f32(f8_of((u8)p0[l], format(w))); \
        put(w, i, r); \
    }
FROM_F8(v_cvt_f32_fp8, fp8)
FROM_F8(v_cvt_f32_bf8, bf8)

#define PAIR_FROM_F8(name, format) \
    HANDLER(name) \
    { \
        SOURCE_32(0) \
        u32 r[2 * LANES]; \
        EACH_LANE { \
            r[l] = bits_f32(f8_of((u8)p0[l], format(w))); \
            r[LANES + l] = bits_f32(f8_of((u8)(p0[l] >> 8), format(w))); \
        } \
        u64 mask = write_mask(w, i); \
        put_masked(vector(w, i->dst), r, mask); \
        put_masked(vector(w, i->dst + 1), r + LANES, mask); \
    }
PAIR_FROM_F8(v_cvt_pk_f32_fp8, fp8)
PAIR_FROM_F8(v_cvt_pk_f32_bf8, bf8)

#define PAIR_TO_F8(name, format) \
    HANDLER(name) \
    { \
        SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32 \
        EACH_LANE r[l] = bits_f8(f32_of(p0[l]), format(w), saturates(w)) | \
                         (u32)bits_f8(f32_of(p1[l]), format(w), saturates(w)) << 8; \
        put(w, i, r); \
    }
PAIR_TO_F8(v_cvt_pk_fp8_f32, fp8)
PAIR_TO_F8(v_cvt_pk_bf8_f32, bf8)

/* ---- any number of values, with a scale ---- */

typedef enum { WIDE_F32, WIDE_F16, WIDE_BF16 } WideFormat;
typedef enum { NARROW_FP8, NARROW_BF8, NARROW_FP6, NARROW_BF6, NARROW_FP4, NARROW_F16, NARROW_BF16 } NarrowFormat;
/* Where a narrowing finds its values: in the registers of source 0; one in each of sources 0 and 1; 16 each, in turn. */
typedef enum { FROM_ONE, FROM_TWO, FROM_TURNS } Place;

static Handler narrow;

static Float8 small_format(const Wave *w, u8 format)
{
    switch ((NarrowFormat)format) {
    case NARROW_FP8: return fp8(w);
    case NARROW_BF8: return bf8(w);
    case NARROW_FP6: return FP6;
    case NARROW_BF6: return BF6;
    default: return FP4;
    }
}

static u32 op_sel(const Inst *i, int first, int bits) { return i->raw >> (11 + first) & ((1u << bits) - 1); }

static u32 raw_lane(Wave *w, const Inst *i, int k, int word, int lane)
{
    if (i->source[k] >= FIRST_VGPR)
        return vector(w, i->source[k] + word)[lane];
    return i->source[k] < SCALAR_FILE ? w->s[i->source[k] + word] : scalar32(w, i, k);
}

/* What an inline constant means where several values or narrow ones are read is not documented. */
static bool constant_is_clear(const Inst *i)
{
    const Row *r = i->row;
    bool one_float = r->run == narrow && r->detail[1] == WIDE_F32 && (r->detail[3] == 1 || r->detail[4] == FROM_TWO);
    return i->source[0] >= FIRST_VGPR || i->source[0] < SCALAR_FILE || one_float;
}

static u8 scale_of_lane(Wave *w, const Inst *i, int k, int lane) { return (u8)(raw_lane(w, i, k, 0, lane) >> 23); }

/* The pseudo-random number after `x`: V_PRNG_B32. */
static u32 next_random(u32 x) { return x << 1 ^ (x >> 31 ? 197 : 0); }

static double wide_value(u32 word, u8 format, int element)
{
    u16 half = (u16)(word >> 16 * (element % 2));
    return format == WIDE_F32 ? f32_of(word) : format == WIDE_F16 ? f16_of(half) : bf16_of(half);
}

/* `bits` of a lane's result, from bit `at` on. */
static void put_field(u32 *words, int at, int bits, u32 x)
{
    u64 mask = ((1ull << bits) - 1) << at % 32, value = (u64)x << at % 32;
    words[at / 32] = (words[at / 32] & ~(u32)mask) | (u32)value;
    if (at % 32 + bits > 32)
        words[at / 32 + 1] = (words[at / 32 + 1] & ~(u32)(mask >> 32)) | (u32)(value >> 32);
}
static u32 get_field(const u32 *words, int at, int bits)
{
    u64 both = at % 32 + bits > 32 ? pair(words[at / 32], words[at / 32 + 1]) : words[at / 32];
    return (u32)(both >> at % 32) & ((1u << bits) - 1);
}

enum { MOST_VALUES = 32, NARROW_WORDS = 6 };

/* The values that a lane narrows. */
static void gather_values(Wave *w, const Inst *i, int lane, double *out)
{
    const Row *r = i->row;
    int count = r->detail[3];
    for (int e = 0; e < count; e++) {
        int k = r->detail[4] == FROM_ONE ? 0 : e % 2, at = r->detail[4] == FROM_TURNS ? e / 2 : e;
        int word = r->detail[4] == FROM_TWO ? 0 : r->detail[1] == WIDE_F32 ? at : at / 2;
        u32 x = raw_lane(w, i, k, word, lane);
        if (count == 1 && r->detail[1] != WIDE_F32)
            x >>= 16 * op_sel(i, 0, 1);
        x = (i->abs >> k & 1 ? x & 0x7fffffff : x) ^ (i->neg >> k & 1 ? 0x80000000 : 0);
        out[e] = wide_value(x, r->detail[1], count == 1 ? 0 : e);
    }
}

/* detail: -, WideFormat, NarrowFormat, values, Place, stochastic */
HANDLER(narrow)
{
    const Row *r = i->row;
    Float8 f = small_format(w, r->detail[2]);
    int count = r->detail[3], bits = f8_width(f), all = count * bits, scale = i->operands - 2;
    int at = all == 8 ? 8 * (int)op_sel(i, 2, 2) : all == 16 ? 16 * (int)op_sel(i, 3, 1) : 0;
    u32 result[NARROW_WORDS][LANES];
    if (!constant_is_clear(i)) {
        fault_not_emulated(w, i);
        return;
    }
    for (int l = 0; l < LANES; l++) {
        double value[MOST_VALUES], factor = e8m0_of(scale_of_lane(w, i, scale, l));
        u32 words[NARROW_WORDS] = {vector(w, i->dst)[l]};
        Rounding how = {r->detail[5], r->detail[5] ? raw_lane(w, i, scale - 1, 0, l) : 0};
        gather_values(w, i, l, value);
        for (int e = 0; e < count; e++, how.random = next_random(how.random)) {
            double x = value[e] / factor;
            if (x != x && f.kind == FINITE && lane_active(w, (u32)l)) {
                fault_not_emulated(w, i); /* what a NaN becomes where there is none is not documented */
                return;
            }
            put_field(words, at + e * bits, bits, x == x || f.kind != FINITE ? round_f8(x, f, saturates(w), how) : 0);
        }
        for (int n = 0; n < (all + 31) / 32; n++)
            result[n][l] = words[n];
    }
    for (int n = 0; n < (all + 31) / 32; n++)
        put_masked(vector(w, i->dst + n), result[n], exec_mask(w));
}

/* detail: -, WideFormat, NarrowFormat, values */
HANDLER(widen)
{
    const Row *r = i->row;
    Float8 f = small_format(w, r->detail[2]);
    int count = r->detail[3], bits = f8_width(f), all = count * bits;
    int at = all == 8 ? 8 * (int)op_sel(i, 0, 2) : all == 16 ? 16 * (int)op_sel(i, 0, 1) : 0;
    int first = count == 1 ? (int)op_sel(i, 3, 1) : 0, words = r->detail[1] == WIDE_F32 ? count : (count + 1) / 2;
    u32 result[MOST_VALUES][LANES];
    if (!constant_is_clear(i)) {
        fault_not_emulated(w, i);
        return;
    }
    for (int l = 0; l < LANES; l++) {
        u32 from[NARROW_WORDS], to[MOST_VALUES] = {vector(w, i->dst)[l]};
        double factor = e8m0_of(scale_of_lane(w, i, 1, l));
        for (int n = 0; n < (all + 31) / 32; n++)
            from[n] = raw_lane(w, i, 0, n, l);
        for (int e = 0; e < count; e++) {
            double x = f8_of((u8)get_field(from, at + e * bits, bits), f) * factor;
            if (r->detail[1] == WIDE_F32)
                to[e] = bits_f32((float)x);
            else
                put_field(to, 16 * (e + first), 16, r->detail[1] == WIDE_F16 ? bits_f16_of_f64(x) : bits_bf16((float)x));
        }
        for (int n = 0; n < words; n++)
            result[n][l] = to[n];
    }
    for (int n = 0; n < words; n++)
        put_masked(vector(w, i->dst + n), result[n], exec_mask(w));
}

/* ---- stochastic rounding without a scale: source 1 is the random number; its upper bits count ---- */

static u16 stochastic_half(float x, Rounding how, bool bf16)
{
    int mantissa = bf16 ? 7 : 10, lowest = bf16 ? -126 : -14;
    if (x != x || isinf(x) || x == 0)
        return bf16 ? bits_bf16(x) : bits_f16(x);
    int exponent = ilogbf(x) < lowest ? lowest : ilogbf(x);
    double rounded = ldexp(round_steps(ldexp(fabs((double)x), mantissa - exponent), how), exponent - mantissa);
    float signed_result = (float)copysign(rounded, x);
    return bf16 ? bits_bf16(signed_result) : bits_f16(signed_result);
}

/* detail: -, -, NarrowFormat */
HANDLER(narrow_unscaled)
{
    SOURCE_32(0) SOURCE_32(1)
    u32 result[LANES];
    u8 to = i->row->detail[2];
    EACH_LANE {
        float x = f32_of(p0[l]);
        Rounding how = {true, p1[l]};
        result[l] = vector(w, i->dst)[l];
        if (to == NARROW_F16 || to == NARROW_BF16)
            put_field(&result[l], 16 * (int)op_sel(i, 3, 1), 16, stochastic_half(x, how, to == NARROW_BF16));
        else
            put_field(&result[l], 8 * (int)op_sel(i, 2, 2), 8, round_f8(x, small_format(w, to), saturates(w), how));
    }
    put_masked(vector(w, i->dst), result, exec_mask(w));
}

u32 convert_written_bits(const Inst *i)
{
    static const u8 width[] = {[NARROW_FP8] = 8, [NARROW_BF8] = 8, [NARROW_FP6] = 6, [NARROW_BF6] = 6, [NARROW_FP4] = 4,
                               [NARROW_F16] = 16, [NARROW_BF16] = 16};
    const Row *r = i->row;
    u32 bits = 32;
    if (r->run == narrow || r->run == narrow_unscaled)
        bits = width[r->detail[2]] * (r->run == narrow ? r->detail[3] : 1u);
    else if (r->run == widen && r->detail[3] == 1 && r->detail[1] != WIDE_F32)
        bits = 16;
    return bits == 8 ? 0xffu << 8 * op_sel(i, 2, 2) : bits == 16 ? 0xffffu << 16 * op_sel(i, 3, 1) : ~0u;
}

HANDLER(v_prng_b32)
{
    SOURCE_32(0) SCRATCH_ROW_32
    EACH_LANE r[l] = next_random(p0[l]);
    put(w, i, r);
}

/* ---- rows ---- */

#define SIGNS (MOD_NEG | MOD_ABS)
enum { KEEPS_HALF = 0xff }; /* detail[0]: the other half of the result stays */

#define ROW(name, in, D, A, B, C, mods) \
    {.mnemonic = #name, .run = name, .layout = in, .family = FAMILY_VALU, .result = TYPE_##D, \
     .source = {TYPE_##A, TYPE_##B, TYPE_##C}, .modifiers = mods}
#define CONVERT(text, body, in, mods, ...) \
    {.mnemonic = text, .run = body, .layout = in, .family = FAMILY_VALU, .result = TYPE_WIDE, \
     .source = {TYPE_WIDE, TYPE_U32, TYPE_U32}, .modifiers = MOD_PART | (mods), .detail = {0, __VA_ARGS__}}

/* One or two values of each wide format, and 32 of them, to and from narrow format N. */
#define PAIRS(n, N) \
    CONVERT("v_cvt_scalef32_pk_" n "_f32", narrow, "d012", SIGNS, WIDE_F32, N, 2, FROM_TWO, 0), \
    CONVERT("v_cvt_scalef32_pk_" n "_f16", narrow, "d01", 0, WIDE_F16, N, 2, FROM_ONE, 0), \
    CONVERT("v_cvt_scalef32_pk_" n "_bf16", narrow, "d01", 0, WIDE_BF16, N, 2, FROM_ONE, 0), \
    CONVERT("v_cvt_scalef32_pk_f32_" n, widen, "d01", 0, WIDE_F32, N, 2), \
    CONVERT("v_cvt_scalef32_pk_f16_" n, widen, "d01", 0, WIDE_F16, N, 2), \
    CONVERT("v_cvt_scalef32_pk_bf16_" n, widen, "d01", 0, WIDE_BF16, N, 2)
#define BYTES(n, N) \
    PAIRS(n, N), CONVERT("v_cvt_scalef32_f32_" n, widen, "d01", 0, WIDE_F32, N, 1), \
    CONVERT("v_cvt_scalef32_f16_" n, widen, "d01", 0, WIDE_F16, N, 1), \
    CONVERT("v_cvt_scalef32_sr_" n "_f32", narrow, "d012", 0, WIDE_F32, N, 1, FROM_ONE, 1), \
    CONVERT("v_cvt_scalef32_sr_" n "_f16", narrow, "d012", 0, WIDE_F16, N, 1, FROM_ONE, 1), \
    CONVERT("v_cvt_scalef32_sr_" n "_bf16", narrow, "d012", 0, WIDE_BF16, N, 1, FROM_ONE, 1), \
    CONVERT("v_cvt_sr_" n "_f32", narrow_unscaled, "d01", SIGNS | MOD_BYTE_SEL, 0, N)
#define SIXES(n, N) \
    CONVERT("v_cvt_scalef32_2xpk16_" n "_f32", narrow, "d012", 0, WIDE_F32, N, 32, FROM_TURNS, 0), \
    CONVERT("v_cvt_scalef32_pk32_" n "_f16", narrow, "d01", 0, WIDE_F16, N, 32, FROM_ONE, 0), \
    CONVERT("v_cvt_scalef32_pk32_" n "_bf16", narrow, "d01", 0, WIDE_BF16, N, 32, FROM_ONE, 0), \
    CONVERT("v_cvt_scalef32_sr_pk32_" n "_f32", narrow, "d012", 0, WIDE_F32, N, 32, FROM_ONE, 1), \
    CONVERT("v_cvt_scalef32_sr_pk32_" n "_f16", narrow, "d012", 0, WIDE_F16, N, 32, FROM_ONE, 1), \
    CONVERT("v_cvt_scalef32_sr_pk32_" n "_bf16", narrow, "d012", 0, WIDE_BF16, N, 32, FROM_ONE, 1), \
    CONVERT("v_cvt_scalef32_pk32_f32_" n, widen, "d01", 0, WIDE_F32, N, 32), \
    CONVERT("v_cvt_scalef32_pk32_f16_" n, widen, "d01", 0, WIDE_F16, N, 32), \
    CONVERT("v_cvt_scalef32_pk32_bf16_" n, widen, "d01", 0, WIDE_BF16, N, 32)

static const Row rows[] = {
    ROW(v_cvt_f32_fp8, "d0", F32, U32, NONE, NONE, MOD_SDWA | MOD_DPP | MOD_BYTE_SEL),
    ROW(v_cvt_f32_bf8, "d0", F32, U32, NONE, NONE, MOD_SDWA | MOD_DPP | MOD_BYTE_SEL),
    ROW(v_cvt_pk_f32_fp8, "d0", PKF32, U16, NONE, NONE, MOD_SDWA),
    ROW(v_cvt_pk_f32_bf8, "d0", PKF32, U16, NONE, NONE, MOD_SDWA),
    {.mnemonic = "v_cvt_pk_fp8_f32", .run = v_cvt_pk_fp8_f32, .layout = "d01", .family = FAMILY_VALU,
     .result = TYPE_U16, .source = {TYPE_F32, TYPE_F32}, .modifiers = SIGNS | MOD_OP_SEL, .detail = {KEEPS_HALF}},
    {.mnemonic = "v_cvt_pk_bf8_f32", .run = v_cvt_pk_bf8_f32, .layout = "d01", .family = FAMILY_VALU,
     .result = TYPE_U16, .source = {TYPE_F32, TYPE_F32}, .modifiers = SIGNS | MOD_OP_SEL, .detail = {KEEPS_HALF}},
    BYTES("fp8", NARROW_FP8), BYTES("bf8", NARROW_BF8), PAIRS("fp4", NARROW_FP4), SIXES("fp6", NARROW_FP6),
    SIXES("bf6", NARROW_BF6),
    CONVERT("v_cvt_scalef32_sr_pk_fp4_f32", narrow, "d012", 0, WIDE_F32, NARROW_FP4, 2, FROM_ONE, 1),
    CONVERT("v_cvt_scalef32_sr_pk_fp4_f16", narrow, "d012", 0, WIDE_F16, NARROW_FP4, 2, FROM_ONE, 1),
    CONVERT("v_cvt_scalef32_sr_pk_fp4_bf16", narrow, "d012", 0, WIDE_BF16, NARROW_FP4, 2, FROM_ONE, 1),
    CONVERT("v_cvt_sr_f16_f32", narrow_unscaled, "d01", SIGNS, 0, NARROW_F16),
    CONVERT("v_cvt_sr_bf16_f32", narrow_unscaled, "d01", SIGNS, 0, NARROW_BF16),
    ROW(v_prng_b32, "d0", U32, U32, NONE, NONE, MOD_SDWA | MOD_DPP),
};

const RowTable isa_convert = {rows, sizeof rows / sizeof *rows};
