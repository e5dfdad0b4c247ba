/*
 * RDNA's matrix instructions as one function of depth and types.  They ignore EXEC.
 *
 * Where an element lives (lane l, its elements packed one after the other):
 *   RDNA3  A[i][k]  lane i, and the same again in every further sixteen lanes; element k     B[k][j] alike, with j for i
 *          D[i][j]  wave of 32: register i/2, lane j + 16*(i%2)      wave of 64: register i/4, lane j + 16*(i%4)
 *                   16-bit results take one half of a register, which op_sel chooses, and leave the other alone
 *   RDNA4  A[i][k]  lane i + 16*(k/(K/2)), element k%(K/2)           B[k][j] alike, with j for i
 *          D[i][j]  register i%8, lane j + 16*(i/8); 16-bit results two to a register
 * Not known to us, and so not emulated: RDNA4's waves of 64, sparse matrices, copies that differ on RDNA3, negation.
 * Source: RDNA3 and RDNA4 ISA, "WMMA"; not compared with tables of AMD's matrix instruction calculator.
 */
#include "../formats.h"
#include "../machine.h"

typedef enum { IN_F16, IN_BF16, IN_IU8, IN_IU4, IN_FP8, IN_BF8 } InType;
typedef enum { OUT_F32, OUT_F16, OUT_BF16, OUT_I32 } OutType;

enum { SIZE = 16, MAX_K = 32, A = 0, B = 1, C = 2 };

static const u8 width_of[] = {[IN_F16] = 16, [IN_BF16] = 16, [IN_IU8] = 8, [IN_IU4] = 4, [IN_FP8] = 8, [IN_BF8] = 8};

static u32 bits_at(Wave *w, u16 operand, u32 lane, u32 element, u32 width)
{
    u32 at = element * width;
    return vector(w, operand + at / 32)[lane] >> at % 32 & ((1u << width) - 1);
}

static float float_of(u32 bits, InType type)
{
    switch (type) {
    case IN_F16: return f16_of((u16)bits);
    case IN_BF16: return bf16_of((u16)bits);
    case IN_FP8: return f8_of((u8)bits, FP8_OCP);
    default: return f8_of((u8)bits, BF8_OCP);
    }
}
static i32 int_of(u32 bits, u32 width, bool sign) { return sign ? (i32)(bits << (32 - width)) >> (32 - width) : (i32)bits; }

/* The bits of A[n][k], or of B[k][n]. */
static u32 input_bits(Wave *w, const Inst *i, int operand, u32 n, u32 k, u32 depth, u32 width)
{
    if (w->program->generation == GFX11)
        return bits_at(w, i->source[operand], n, k, width);
    return bits_at(w, i->source[operand], n + SIZE * (k / (depth / 2)), k % (depth / 2), width);
}

/* RDNA3 asks for the same data in every sixteen lanes, and does not say what comes of others. */
static bool copies_differ(Wave *w, const Inst *i, int operand, u32 registers)
{
    for (u32 r = 0; r < registers; r++)
        for (u32 l = SIZE; l < wave_lanes(w); l++)
            if (vector(w, i->source[operand] + r)[l] != vector(w, i->source[operand] + r)[l % SIZE])
                return true;
    return false;
}

/* Register, lane and shift of D[row][column]. */
typedef struct { u32 reg, lane, shift; } Cell;

static Cell result_cell(const Wave *w, const Inst *i, u32 row, u32 column, bool half)
{
    u32 groups = wave_lanes(w) / SIZE;
    if (w->program->generation == GFX11)
        return (Cell){row / groups, column + SIZE * (row % groups), half && i->op_sel & 4 ? 16 : 0};
    u32 at = row % 8, lane = column + SIZE * (row / 8);
    return half ? (Cell){at / 2, lane, at % 2 * 16} : (Cell){at, lane, 0};
}

static u32 c_bits(Wave *w, const Inst *i, Cell at)
{
    return (i->source[C] >= FIRST_VGPR ? vector(w, i->source[C] + at.reg)[at.lane] : scalar32(w, i, C)) >> at.shift;
}

static float c_float(u32 bits, OutType type)
{
    return type == OUT_F32 ? f32_of(bits) : type == OUT_F16 ? f16_of((u16)bits) : bf16_of((u16)bits);
}
static u32 d_bits(float x, OutType type)
{
    return type == OUT_F32 ? bits_f32(x) : type == OUT_F16 ? bits_f16(x) : bits_bf16(x);
}

static bool supported(Wave *w, const Inst *i, u32 depth, bool integer)
{
    u32 a_bits = depth * width_of[i->row->detail[3]], b_bits = depth * width_of[i->row->detail[4]];
    bool known = w->program->generation == GFX11
                     ? !copies_differ(w, i, A, (a_bits + 31) / 32) && !copies_differ(w, i, B, (b_bits + 31) / 32)
                     : w->wave32;
    bool bent = integer ? i->neg & 4 || i->neg_hi : i->neg || i->neg_hi || i->clamp;
    if (known && !bent && !(i->op_sel & 3))
        return true;
    run_not_emulated(w, i);
    return false;
}

static void run_wmma_float(Wave *w, const Inst *i)
{
    u32 depth = i->row->detail[1];
    InType a_type = (InType)i->row->detail[3], b_type = (InType)i->row->detail[4];
    OutType type = (OutType)i->row->detail[5];
    float a[SIZE][MAX_K], b[MAX_K][SIZE], d[SIZE][SIZE];
    if (!supported(w, i, depth, false))
        return;
    for (u32 n = 0; n < SIZE; n++)
        for (u32 k = 0; k < depth; k++) {
            a[n][k] = float_of(input_bits(w, i, A, n, k, depth, width_of[a_type]), a_type);
            b[k][n] = float_of(input_bits(w, i, B, n, k, depth, width_of[b_type]), b_type);
        }
    for (u32 row = 0; row < SIZE; row++)
        for (u32 column = 0; column < SIZE; column++) {
            float sum = c_float(c_bits(w, i, result_cell(w, i, row, column, type != OUT_F32)), type);
            for (u32 k = 0; k < depth; k++)
                sum = __builtin_fmaf(a[row][k], b[k][column], sum);
            d[row][column] = sum;
        }
    for (u32 row = 0; row < SIZE; row++)
        for (u32 column = 0; column < SIZE; column++) {
            Cell at = result_cell(w, i, row, column, type != OUT_F32);
            u32 *to = &vector(w, i->dst + at.reg)[at.lane], x = d_bits(d[row][column], type);
            *to = type == OUT_F32 ? x : (*to & ~(0xffffu << at.shift)) | x << at.shift;
        }
}

/* neg_lo says whether A and B are signed. With `clamp` the sum saturates at the end. */
static void run_wmma_int(Wave *w, const Inst *i)
{
    u32 depth = i->row->detail[1], width = width_of[i->row->detail[3]];
    i32 a[SIZE][MAX_K], b[MAX_K][SIZE];
    u32 d[SIZE][SIZE];
    if (!supported(w, i, depth, true))
        return;
    for (u32 n = 0; n < SIZE; n++)
        for (u32 k = 0; k < depth; k++) {
            a[n][k] = int_of(input_bits(w, i, A, n, k, depth, width), width, i->neg & 1);
            b[k][n] = int_of(input_bits(w, i, B, n, k, depth, width), width, i->neg & 2);
        }
    for (u32 row = 0; row < SIZE; row++)
        for (u32 column = 0; column < SIZE; column++) {
            i64 sum = (i32)c_bits(w, i, result_cell(w, i, row, column, false));
            for (u32 k = 0; k < depth; k++)
                sum += (i64)a[row][k] * b[k][column];
            if (i->clamp)
                sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
            d[row][column] = (u32)sum;
        }
    for (u32 row = 0; row < SIZE; row++)
        for (u32 column = 0; column < SIZE; column++) {
            Cell at = result_cell(w, i, row, column, false);
            vector(w, i->dst + at.reg)[at.lane] = d[row][column];
        }
}

#define RUN_F32 run_wmma_float
#define RUN_F16 run_wmma_float
#define RUN_BF16 run_wmma_float
#define RUN_I32 run_wmma_int

/* detail: -, K, blocks, type of A, type of B, type of D; the first four as for MFMA, for the counters */
#define WMMA(name, k, a, b, d) \
    {.mnemonic = #name, .run = RUN_##d, .layout = "d012", .family = FAMILY_MFMA, .result = TYPE_WIDE, \
     .source = {TYPE_WIDE, TYPE_WIDE, TYPE_##d}, .modifiers = MOD_NEG_LO_HI | MOD_OP_SEL | MOD_CLAMP, .bytes = SIZE, \
     .detail = {0, k, 1, IN_##a, IN_##b, OUT_##d}},

static const Row rows[] = {
#include "wmma.def"
};
const RowTable isa_wmma = {rows, sizeof rows / sizeof *rows};
