/*
 * Vector ALU of RDNA3 and RDNA4, the irregular part: permutes within and across rows, registers that M0 chooses, halves
 * that change places, dot products, transcendentals of one scalar.
 * Source: RDNA3 ISA and RDNA4 ISA, the pseudocode of each; LLVM AMDGPUUsage, llvm.amdgcn.permlane16.
 */
#include "isa/lane_types.h"
#include "machine/fault.h"

HANDLER(v_cndmask_b16)
{
    SOURCE_32(0) SOURCE_32(1)
    u32 r[LANES];
    u64 mask = mask_source(w, i, 2);
    EACH_LANE r[l] = mask >> l & 1 ? p1[l] : p0[l];
    put(w, i, r);
}

/* ---- permutes ---- */

/* op_sel[0]: inactive lanes can be read. Else op_sel[1] decides whether they give 0 or the result stays. */
static void permute_rows(Wave *w, const Inst *i, const u32 *from)
{
    const u32 *data = vector(w, i->source[0]);
    u32 r[LANES];
    u64 mask = exec_mask(w);
    for (u32 l = 0; l < LANES; l++) {
        bool readable = i->op_sel & 1 || lane_active(w, from[l]);
        r[l] = readable ? data[from[l]] : 0;
        if (!readable && !(i->op_sel & 2))
            mask &= ~(1ull << l);
    }
    put_masked(vector(w, i->dst), r, mask);
}

/* Four bits for each lane of a row, in two scalars. `across`: into the other row of a pair. */
static void permute_by_scalars(Wave *w, const Inst *i, u32 across)
{
    u64 select = pair(scalar32(w, i, 1), scalar32(w, i, 2));
    u32 from[LANES];
    for (u32 l = 0; l < LANES; l++)
        from[l] = ((l & ~15u) ^ across) | (select >> 4 * (l & 15) & 15);
    permute_rows(w, i, from);
}
static void permute_by_lanes(Wave *w, const Inst *i, u32 across)
{
    const u32 *select = vector(w, i->source[1]);
    u32 from[LANES];
    for (u32 l = 0; l < LANES; l++)
        from[l] = ((l & ~15u) ^ across) | (select[l] & 15);
    permute_rows(w, i, from);
}

static bool in_vectors(Wave *w, const Inst *i, int sources)
{
    for (int k = 0; k < sources; k++)
        if (i->source[k] < FIRST_VGPR) {
            fault_not_emulated(w, i);
            return false;
        }
    return true;
}
HANDLER(v_permlane16_b32)
{
    if (in_vectors(w, i, 1))
        permute_by_scalars(w, i, 0);
}
HANDLER(v_permlanex16_b32)
{
    if (in_vectors(w, i, 1))
        permute_by_scalars(w, i, 16);
}
HANDLER(v_permlane16_var_b32)
{
    if (in_vectors(w, i, 2))
        permute_by_lanes(w, i, 0);
}
HANDLER(v_permlanex16_var_b32)
{
    if (in_vectors(w, i, 2))
        permute_by_lanes(w, i, 16);
}

/* The halves of a wave of 64 change places; a wave of 32 has none, and does nothing. */
HANDLER(v_permlane64_b32)
{
    if (w->wave32 || !in_vectors(w, i, 1))
        return;
    const u32 *data = vector(w, i->source[0]);
    u32 r[LANES];
    for (int l = 0; l < LANES; l++)
        r[l] = data[l ^ 32];
    put_masked(vector(w, i->dst), r, exec_mask(w));
}

/* ---- registers that M0 chooses ---- */

/* The operand so many registers on; 0 when that lies outside the file. */
static u16 moved(Wave *w, const Inst *i, u16 operand, u32 by)
{
    if (operand >= FIRST_VGPR && (u64)operand + by < FIRST_AGPR)
        return (u16)(operand + by);
    fault_not_emulated(w, i);
    return 0;
}
static void move(Wave *w, const Inst *i, u32 from_by, u32 to_by)
{
    Inst plain = *i;
    if (from_by && !(plain.source[0] = moved(w, i, i->source[0], from_by)))
        return;
    if (to_by && !(plain.dst = moved(w, i, i->dst, to_by)))
        return;
    SOURCE_32(0)
    const u32 *data = from_by ? vector(w, plain.source[0]) : p0;
    put_masked(vector(w, plain.dst), data, exec_mask(w));
}
HANDLER(v_movrels_b32) { move(w, i, w->s[SGPR_M0], 0); }
HANDLER(v_movreld_b32) { move(w, i, 0, w->s[SGPR_M0]); }
HANDLER(v_movrelsd_b32) { move(w, i, w->s[SGPR_M0], w->s[SGPR_M0]); }
HANDLER(v_movrelsd_2_b32) { move(w, i, w->s[SGPR_M0] & 0x3ff, w->s[SGPR_M0] >> 16 & 0x3ff); }

HANDLER(v_swaprel_b32)
{
    u16 from = moved(w, i, i->source[0], w->s[SGPR_M0] & 0x3ff), to = moved(w, i, i->dst, w->s[SGPR_M0] >> 16 & 0x3ff);
    u32 old[LANES];
    if (!from || !to)
        return;
    memcpy(old, vector(w, to), sizeof old);
    put_masked(vector(w, to), vector(w, from), exec_mask(w));
    put_masked(vector(w, from), old, exec_mask(w));
}

/* ---- halves that change places ---- */

HANDLER(v_swap_b16)
{
    if (!in_vectors(w, i, 1))
        return;
    u32 *x = vector(w, i->dst), *y = vector(w, i->source[0]);
    int to = i->half & HALF_RESULT_UPPER ? 16 : 0, from = i->half & 1 ? 16 : 0;
    for (u32 l = 0; l < LANES; l++) {
        if (!lane_active(w, l))
            continue;
        u32 a = x[l] >> to & 0xffff, b = y[l] >> from & 0xffff;
        x[l] = (x[l] & ~(0xffffu << to)) | b << to;
        y[l] = (y[l] & ~(0xffffu << from)) | a << from;
    }
}

/* ---- dot products: neg_lo says which of the two factors is signed ---- */

static i64 field(u32 x, int bits, int k, bool sign)
{
    u32 part = x >> bits * k & ((1u << bits) - 1);
    return sign ? (i32)(part << (32 - bits)) >> (32 - bits) : (i64)part;
}
static u32 dot_mixed(const Inst *i, u32 a, u32 b, u32 c, int bits)
{
    i64 sum = (i32)c;
    for (int k = 0; k < 32 / bits; k++)
        sum += field(a, bits, k, i->neg & 1) * field(b, bits, k, i->neg >> 1 & 1);
    return (u32)(i->clamp ? saturate_i32(sum) : (i32)sum);
}
/* The bits in the registers: neg_lo does not flip anything here. */
#define MIXED_DOT(name, bits) \
    HANDLER(name) \
    { \
        Inst plain = *i; \
        plain.neg = 0; \
        u32 t[3][LANES], r[LANES]; \
        const u32 *p[3]; \
        for (int k = 0; k < 3; k++) { \
            plain.how[k] = i->source[k] < FIRST_VGPR ? READ_UNIFORM : k == 0 && i->dpp ? READ_MODIFIED : READ_PLAIN; \
            p[k] = source(w, &plain, k, t[k]); \
        } \
        for (int l = 0; l < LANES; l++) \
            r[l] = dot_mixed(i, p[0][l], p[1][l], p[2][l], bits); \
        put_masked(vector(w, i->dst), r, write_mask(w, i)); \
    }
MIXED_DOT(v_dot4_i32_iu8, 8)
MIXED_DOT(v_dot8_i32_iu4, 4)

/* Products of small floats are exact; the sums round once each, in order. */
#define DOT4_F8(name, A, B) \
    HANDLER(name) \
    { \
        SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) \
        u32 r[LANES]; \
        for (int l = 0; l < LANES; l++) { \
            float sum = f32_of(p2[l]); \
            for (int k = 0; k < 32; k += 8) \
                sum += f8_of((u8)(p0[l] >> k), A) * f8_of((u8)(p1[l] >> k), B); \
            r[l] = bits_f32(sum); \
        } \
        put(w, i, r); \
    }
DOT4_F8(v_dot4_f32_fp8_fp8, FP8_OCP, FP8_OCP)
DOT4_F8(v_dot4_f32_fp8_bf8, FP8_OCP, BF8_OCP)
DOT4_F8(v_dot4_f32_bf8_fp8, BF8_OCP, FP8_OCP)
DOT4_F8(v_dot4_f32_bf8_bf8, BF8_OCP, BF8_OCP)

/* Every product and every sum is rounded to the format, as the pseudocode's types say. */
#define DOT2_HALF(name, of, bits) \
    HANDLER(name) \
    { \
        SOURCE_32(0) SOURCE_32(1) SOURCE_32(2) \
        u32 r[LANES]; \
        if (i->source[0] == SOURCE_CONSTANT || i->source[1] == SOURCE_CONSTANT || (i->neg | i->abs) & 3) { \
            fault_not_emulated(w, i); /* what these do to pairs of halves is not documented */ \
            return; \
        } \
        for (int l = 0; l < LANES; l++) { \
            float sum = of((u16)p2[l]); \
            for (int k = 0; k < 32; k += 16) \
                sum = of(bits(sum + of(bits(of((u16)(p0[l] >> k)) * of((u16)(p1[l] >> k)))))); \
            r[l] = bits(sum); \
        } \
        put(w, i, r); \
    }
DOT2_HALF(v_dot2_f16_f16, f16_of, bits_f16)
DOT2_HALF(v_dot2_bf16_bf16, bf16_of, bits_bf16)

/* ---- RDNA4: transcendentals of a scalar; the upper half of a 16-bit result is zero ---- */

#define SCALAR_FUNCTION(name, single, half) \
    HANDLER(name##_f32) \
    { \
        SOURCE_32(0) \
        float a = f32_of(p0[0]); \
        w->s[i->sdst] = bits_f32(single); \
    } \
    HANDLER(name##_f16) \
    { \
        SOURCE_32(0) \
        float a = f16_of((u16)p0[0]); \
        w->s[i->sdst] = bits_f16(half); \
    }
SCALAR_FUNCTION(v_s_exp, exp2_f32(a), exp2f(a))
SCALAR_FUNCTION(v_s_log, log2_f32(a), log2f(a))
SCALAR_FUNCTION(v_s_rcp, rcp_f32(a), 1 / a)
SCALAR_FUNCTION(v_s_rsq, rsq_f32(a), (float)(1 / sqrt((double)a)))
SCALAR_FUNCTION(v_s_sqrt, sqrt_f32(a), __builtin_sqrtf(a))

/* ---- rows ---- */

#define ROW(name, in, D, A, B, C, mods) \
    {.mnemonic = #name, .run = name, .layout = in, .family = FAMILY_VALU, .result = TYPE_##D, \
     .source = {TYPE_##A, TYPE_##B, TYPE_##C}, .modifiers = mods}
#define SIGNS (MOD_NEG | MOD_ABS)
#define SCALAR_ROWS(name) \
    ROW(name##_f32, "s0", NONE, F32, NONE, NONE, SIGNS), ROW(name##_f16, "s0", NONE, F16, NONE, NONE, SIGNS)

static const Row rows[] = {
    ROW(v_cndmask_b16, "d012", U16, F16, F16, U64, SIGNS | MOD_DPP),
    ROW(v_permlane16_b32, "d012", U32, U32, U32, U32, MOD_OP_SEL),
    ROW(v_permlanex16_b32, "d012", U32, U32, U32, U32, MOD_OP_SEL),
    ROW(v_permlane16_var_b32, "d01", U32, U32, U32, NONE, MOD_OP_SEL),
    ROW(v_permlanex16_var_b32, "d01", U32, U32, U32, NONE, MOD_OP_SEL),
    ROW(v_permlane64_b32, "d0", U32, U32, NONE, NONE, 0),
    ROW(v_movrels_b32, "d0", U32, U32, NONE, NONE, 0), ROW(v_movreld_b32, "d0", U32, U32, NONE, NONE, 0),
    ROW(v_movrelsd_b32, "d0", U32, U32, NONE, NONE, 0), ROW(v_movrelsd_2_b32, "d0", U32, U32, NONE, NONE, 0),
    ROW(v_swaprel_b32, "d0", U32, U32, NONE, NONE, 0), ROW(v_swap_b16, "d0", U16, U16, NONE, NONE, 0),
    ROW(v_dot4_i32_iu8, "d012", I32, U32, U32, I32, MOD_NEG_LO_HI | MOD_CLAMP | MOD_DPP),
    ROW(v_dot8_i32_iu4, "d012", I32, U32, U32, I32, MOD_NEG_LO_HI | MOD_CLAMP | MOD_DPP),
    ROW(v_dot4_f32_fp8_fp8, "d012", F32, U32, U32, F32, MOD_DPP), ROW(v_dot4_f32_fp8_bf8, "d012", F32, U32, U32, F32, MOD_DPP),
    ROW(v_dot4_f32_bf8_fp8, "d012", F32, U32, U32, F32, MOD_DPP), ROW(v_dot4_f32_bf8_bf8, "d012", F32, U32, U32, F32, MOD_DPP),
    ROW(v_dot2_f16_f16, "d012", F16, U32, U32, F16, SIGNS | MOD_DPP),
    ROW(v_dot2_bf16_bf16, "d012", BF16, U32, U32, BF16, SIGNS | MOD_DPP),
    SCALAR_ROWS(v_s_exp), SCALAR_ROWS(v_s_log), SCALAR_ROWS(v_s_rcp), SCALAR_ROWS(v_s_rsq), SCALAR_ROWS(v_s_sqrt),
};

const RowTable isa_rdna = {rows, sizeof rows / sizeof *rows};
