/* VOP3P: packed halves, dot products and mixed-precision multiply-add. */
#include "isa/lane_types.h"

#pragma clang diagnostic ignored "-Wbitwise-op-parentheses"

/* The halves of 64 lanes are 128 values in a row. */
#define SOURCE_PAIR(k) \
    const u32 *p##k = all_active ? source_row(w, i, k) : source_packed(w, i, k, w->worker->scratch_row[k]); \
    u16 h##k[2 * LANES] __attribute__((aligned(64))); \
    memcpy(h##k, p##k, sizeof h##k);
#define EACH_HALF for (int l = 0; l < 2 * LANES; l++)
#define HALF_F16(x) (x)
#define PUT_HALF_F16(x) bits_f16(x)
#define PUT_HALF_U16(x) (u16)(x)
#define PUT_HALF_I16(x) (u16)(x)
#define STORE_HALVES \
    SCRATCH_ROW_32 \
    memcpy(r, out, sizeof out); \
    STORE_32;

#define PAIR2(name, T, value) \
    LANE_HANDLER(name) \
    { \
        SOURCE_PAIR(0) SOURCE_PAIR(1) \
        u16 out[2 * LANES]; \
        const bool clamp = i->clamp; \
        EACH_HALF { C_##T a = GET_##T(h0, l), b = GET_##T(h1, l); out[l] = PUT_HALF_##T(value); } \
        STORE_HALVES \
        (void)clamp; \
    }
#define PAIR3_BODY(name, T, PUT, value) \
    LANE_HANDLER(name) \
    { \
        SOURCE_PAIR(0) SOURCE_PAIR(1) SOURCE_PAIR(2) \
        u16 out[2 * LANES]; \
        const bool clamp = i->clamp; \
        EACH_HALF { C_##T a = GET_##T(h0, l), b = GET_##T(h1, l), c = GET_##T(h2, l); out[l] = PUT(value); } \
        STORE_HALVES \
        (void)clamp; \
    }
#define PAIR3(name, T, value) PAIR3_BODY(name, T, PUT_HALF_##T, value)
#define PAIR3B(name, T, value) PAIR3_BODY(name, T, PUT_HALF_U16, value)
#define SOURCE_HALVES(k) \
    const Halves p##k = all_active ? source_rows(w, i, k) : source_halves(w, i, k, w->worker->scratch_row[k]);
#define PAIR2F(name, value) \
    static inline u32 name##_lane(u32 x, u32 y) \
    { \
        float a = f32_of(x), b = f32_of(y); \
        return bits_f32(value); \
    } \
    LANE_HANDLER(name) \
    { \
        SOURCE_HALVES(0) SOURCE_HALVES(1) SCRATCH_ROW_64 \
        EACH_LANE { \
            u32 low = name##_lane(p0.low[l], p1.low[l]); \
            u32 high = name##_lane(p0.high[l], p1.high[l]); \
            r[l] = low; \
            r[LANES + l] = high; \
        } \
        STORE_64; \
    }
#define PAIR3F(name, value) \
    static inline u32 name##_lane(u32 x, u32 y, u32 z) \
    { \
        float a = f32_of(x), b = f32_of(y), c = f32_of(z); \
        return bits_f32(value); \
    } \
    LANE_HANDLER(name) \
    { \
        SOURCE_HALVES(0) SOURCE_HALVES(1) SOURCE_HALVES(2) SCRATCH_ROW_64 \
        EACH_LANE { \
            u32 low = name##_lane(p0.low[l], p1.low[l], p2.low[l]); \
            u32 high = name##_lane(p0.high[l], p1.high[l], p2.high[l]); \
            r[l] = low; \
            r[LANES + l] = high; \
        } \
        STORE_64; \
    }

#include "isa/packed.def"

#undef PAIR2
#undef PAIR3
#undef PAIR3B
#undef PAIR2F
#undef PAIR3F

HANDLER(v_pk_fmac_f16)
{
    SOURCE_32(0) SOURCE_32(1) SCRATCH_ROW_32
    const u32 *d = vector(w, i->dst);
    EACH_LANE r[l] = fma_f16(f16_of((u16)p0[l]), f16_of((u16)p1[l]), f16_of((u16)d[l])) |
                     (u32)fma_f16(f16_of((u16)(p0[l] >> 16)), f16_of((u16)(p1[l] >> 16)), f16_of((u16)(d[l] >> 16))) << 16;
    put(w, i, r);
}

/* Low word of a, high word of b as op_sel says: bit 0 for the low result, bit 1 for the high one. */
HANDLER(v_pk_mov_b32)
{
    u32 r[2 * LANES];
    for (int half = 0; half < 2; half++) {
        u32 part = i->op_sel >> half & 1;
        if (i->source[half] >= FIRST_VGPR)
            memcpy(r + half * LANES, vector(w, i->source[half] + part), LANES * sizeof *r);
        else
            EACH_LANE r[half * LANES + l] = (u32)(scalar64(w, i, half) >> 32 * part);
    }
    put64(w, i, r);
}

/* ---- dot products: d = c + sum of products; integer ones saturate with clamp ---- */

static i32 part(u32 x, int bits, int k, bool sign)
{
    u32 field = x >> bits * k & ((1u << bits) - 1);
    return sign ? (i32)(field << (32 - bits)) >> (32 - bits) : (i32)field;
}

static u32 dot_integer(u32 a, u32 b, u32 c, int bits, bool sign, bool clamp)
{
    i64 sum = sign ? (i64)(i32)c : (i64)c;
    for (int k = 0; k < 32 / bits; k++)
        sum += (i64)part(a, bits, k, sign) * part(b, bits, k, sign);
    if (clamp && sign)
        return (u32)saturate_i32(sum);
    return clamp && sum > UINT32_MAX ? UINT32_MAX : (u32)sum;
}

#define DOT(name, bits, sign) \
    HANDLER(name) \
    { \
        SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) SCRATCH_ROW_32 \
        EACH_LANE r[l] = dot_integer(p0[l], p1[l], p2[l], bits, sign, i->clamp); \
        put(w, i, r); \
    }
DOT(v_dot4_i32_i8, 8, true)
DOT(v_dot4_u32_u8, 8, false)
DOT(v_dot8_i32_i4, 4, true)
DOT(v_dot8_u32_u4, 4, false)

#define DOT_PAIR(name, sign) \
    HANDLER(name) \
    { \
        u32 t0[LANES], t1[LANES]; \
        const u32 *p0 = source_packed(w, i, 0, t0), *p1 = source_packed(w, i, 1, t1); \
        SOURCE_32(2) SCRATCH_ROW_32 \
        EACH_LANE r[l] = dot_integer(p0[l], p1[l], p2[l], 16, sign, i->clamp); \
        put(w, i, r); \
    }
DOT_PAIR(v_dot2_i32_i16, true)
DOT_PAIR(v_dot2_u32_u16, false)

/* The products are exact in f32; the sums round once each. The addend comes first, but last in CDNA4's V_DOT2_F32_BF16. */
static float dot_f16(const Wave *w, u32 a, u32 b, float c)
{
    float (*value)(u16) = w->program->flushes_halves ? f16_or_zero : f16_of;
    c += value((u16)a) * value((u16)b);
    return c + value((u16)(a >> 16)) * value((u16)(b >> 16));
}
static float dot_bf16(const Wave *w, u32 a, u32 b, float c)
{
    (void)w;
    c += bf16_of((u16)a) * bf16_of((u16)b);
    return c + bf16_of((u16)(a >> 16)) * bf16_of((u16)(b >> 16));
}
static float dot_bf16_then_add(const Wave *w, u32 a, u32 b, float c)
{
    if (w->program->generation != GFX9)
        return dot_bf16(w, a, b, c);
    return dot_bf16(w, a, b, -0.0f) + c;
}
#define DOT_HALVES(name, body, accumulate) \
    HANDLER(name) \
    { \
        u32 t0[LANES], t1[LANES]; \
        const u32 *p0 = source_packed(w, i, 0, t0), *p1 = source_packed(w, i, 1, t1); \
        SOURCE_32(2) SCRATCH_ROW_32 \
        EACH_LANE r[l] = bits_f32(body(w, p0[l], p1[l], f32_of(p2[l]))); \
        put(w, i, r); \
    } \
    HANDLER(name##_accumulating) \
    { \
        SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) SCRATCH_ROW_32 \
        EACH_LANE r[l] = bits_f32(accumulate(w, p0[l], p1[l], f32_of(p2[l]))); \
        put(w, i, r); \
    }
DOT_HALVES(v_dot2_f32_f16, dot_f16, dot_f16)
DOT_HALVES(v_dot2_f32_bf16, dot_bf16_then_add, dot_bf16)

/* ---- mixed precision: op_sel_hi says which sources are halves, op_sel which half; the sum is an f32 fma ---- */

static float mixed(const Inst *i, int k, u32 x)
{
    float f = f32_of(x);
    if (i->op_sel_hi >> k & 1)
        f = f16_of((u16)(i->op_sel >> k & 1 ? x >> 16 : x));
    if (i->abs >> k & 1)
        f = fabsf(f);
    return i->neg >> k & 1 ? -f : f;
}

/* An inline constant that is read as a half is the constant of 16 bits. Source: LLVM pull request 183487. */
static u32 half_constant(u32 x)
{
    float f = fabsf(f32_of(x)); /* of an integer, a subnormal or NaN: its bits are the same in both */
    return f >= 0.125f && f <= 4.0f ? bits_f16(f32_of(x)) : x;
}

/* Sources as they lie in registers: this family's modifiers are read here. */
static void raw_source(Wave *w, const Inst *i, int k, u32 *out)
{
    if (i->source[k] >= FIRST_VGPR)
        memcpy(out, vector(w, i->source[k]), LANES * sizeof *out);
    else
        EACH_LANE out[l] = scalar32(w, i, k);
    if (i->source[k] == SOURCE_CONSTANT && i->op_sel_hi >> k & 1)
        EACH_LANE out[l] = half_constant(out[l]);
}

static void mix(Wave *w, const Inst *i, float *out)
{
    u32 s[3][LANES];
    for (int k = 0; k < 3; k++)
        raw_source(w, i, k, s[k]);
    EACH_LANE out[l] = __builtin_fmaf(mixed(i, 0, s[0][l]), mixed(i, 1, s[1][l]), mixed(i, 2, s[2][l]));
    if (i->clamp)
        EACH_LANE out[l] = (float)clamped(w, out[l]);
}
HANDLER(v_fma_mix_f32)
{
    float f[LANES];
    mix(w, i, f);
    put_masked(vector(w, i->dst), (const u32 *)f, exec_mask(w));
}
static void mix_half(Wave *w, const Inst *i, int shift)
{
    float f[LANES];
    u32 r[LANES], *d = vector(w, i->dst);
    mix(w, i, f);
    EACH_LANE r[l] = (d[l] & ~(0xffffu << shift)) | (u32)bits_f16(f[l]) << shift;
    put_masked(d, r, exec_mask(w));
}
HANDLER(v_fma_mixlo_f16) { mix_half(w, i, 0); }
HANDLER(v_fma_mixhi_f16) { mix_half(w, i, 16); }

/* ---- rows ---- */

#define SELECTS (MOD_OP_SEL | MOD_OP_SEL_HI)
#define TYPE_HALVES_F16 TYPE_PKF16
#define TYPE_HALVES_U16 TYPE_PKU16
#define TYPE_HALVES_I16 TYPE_PKU16
#define ROW(name, in, D, A, B, C, mods) \
    {.mnemonic = #name, .run = name, .layout = in, .family = FAMILY_VALU, .result = D, .source = {A, B, C}, \
     .modifiers = mods},
#define LANE_ROW(name, in, D, A, B, C, mods) \
    {.mnemonic = #name, .run = name, .all_active = name##_all_active, .layout = in, .family = FAMILY_VALU, .result = D, \
     .source = {A, B, C}, .lane_sources = 2 + ((C) != TYPE_NONE), .modifiers = mods},
#define PAIR2(name, T, value) \
    LANE_ROW(name, "d01", TYPE_HALVES_##T, TYPE_HALVES_##T, TYPE_HALVES_##T, 0, SELECTS | MOD_NEG_LO_HI | MOD_CLAMP)
#define PAIR3(name, T, value) \
    LANE_ROW(name, "d012", TYPE_HALVES_##T, TYPE_HALVES_##T, TYPE_HALVES_##T, TYPE_HALVES_##T, \
        SELECTS | MOD_NEG_LO_HI | MOD_CLAMP)
#define PAIR3B PAIR3
#define PAIR2F(name, value) \
    LANE_ROW(name, "d01", TYPE_PKF32, TYPE_PKF32, TYPE_PKF32, 0, SELECTS | MOD_NEG_LO_HI | MOD_CLAMP)
#define PAIR3F(name, value) \
    LANE_ROW(name, "d012", TYPE_PKF32, TYPE_PKF32, TYPE_PKF32, TYPE_PKF32, SELECTS | MOD_NEG_LO_HI | MOD_CLAMP)
#define DOT_ROW(name, T, A) ROW(name, "d012", TYPE_##T, TYPE_##A, TYPE_##A, TYPE_##T, MOD_CLAMP)
#define DOTC_ROW(text, body, T, A) \
    {.mnemonic = text, .run = body, .layout = "x01", .family = FAMILY_VALU, .result = TYPE_##T, \
     .source = {TYPE_##A, TYPE_##A, TYPE_##T}, .modifiers = MOD_DPP | MOD_CLAMP},
#define MIX_ROW(name, T) \
    ROW(name, "d012", TYPE_##T, TYPE_F32, TYPE_F32, TYPE_F32, SELECTS | MOD_NEG | MOD_ABS | MOD_CLAMP)

static const Row rows[] = {
#include "isa/packed.def"
    ROW(v_pk_fmac_f16, "d01", TYPE_PKU16, TYPE_U32, TYPE_U32, 0, MOD_DPP)
    ROW(v_pk_mov_b32, "d01", TYPE_PKU16, TYPE_U64, TYPE_U64, 0, SELECTS)
    DOT_ROW(v_dot4_i32_i8, I32, U32) DOT_ROW(v_dot4_u32_u8, U32, U32) DOT_ROW(v_dot8_i32_i4, I32, U32)
    DOT_ROW(v_dot8_u32_u4, U32, U32)
    ROW(v_dot2_i32_i16, "d012", TYPE_I32, TYPE_PKU16, TYPE_PKU16, TYPE_I32, SELECTS | MOD_CLAMP)
    ROW(v_dot2_u32_u16, "d012", TYPE_U32, TYPE_PKU16, TYPE_PKU16, TYPE_U32, SELECTS | MOD_CLAMP)
    ROW(v_dot2_f32_f16, "d012", TYPE_F32, TYPE_PKF16, TYPE_PKF16, TYPE_F32, SELECTS | MOD_CLAMP | MOD_NEG_LO_HI)
    ROW(v_dot2_f32_bf16, "d012", TYPE_F32, TYPE_PKU16, TYPE_PKU16, TYPE_F32, SELECTS | MOD_CLAMP)
    DOTC_ROW("v_dot2c_f32_f16", v_dot2_f32_f16_accumulating, F32, U32)
    DOTC_ROW("v_dot2c_f32_bf16", v_dot2_f32_bf16_accumulating, F32, U32) DOTC_ROW("v_dot4c_i32_i8", v_dot4_i32_i8, I32, U32)
    DOTC_ROW("v_dot8c_i32_i4", v_dot8_i32_i4, I32, U32) DOTC_ROW("v_dot2c_i32_i16", v_dot2_i32_i16, I32, PKU16)
    MIX_ROW(v_fma_mix_f32, F32) MIX_ROW(v_fma_mixlo_f16, F16) MIX_ROW(v_fma_mixhi_f16, F16)
};

const RowTable isa_packed = {rows, sizeof rows / sizeof *rows};
