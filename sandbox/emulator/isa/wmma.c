/*
 * RDNA's matrix instructions as one function of depth and types.  They ignore EXEC.
 *
 * Where an element lives (lane l, its elements packed one after the other, a chunk being sixteen lanes):
 *   RDNA3  A[i][k]  lane i, and the same again in every further chunk; element k     B[k][j] alike, with j for i
 *          D[i][j]  wave of 32: register i/2, lane j + 16*(i%2)      wave of 64: register i/4, lane j + 16*(i%4)
 *                   16-bit results take one half of a register, which op_sel chooses, and leave the other alone
 *   RDNA4  A[i][k]  lane i + 16*(k/N), element k%N with N = K / chunks               B[k][j] alike, with j for i
 *                   (which k a chunk holds makes no difference to a sum, as long as A and B agree)
 *          D[i][j]  wave of 32: register i%8, lane j + 16*(i/8)
 *                   wave of 64: register i%4, lane j + 16*(i/8) + 32*(i/4%2); 16-bit results two to a register
 *   sparse A        two of four: lane i + 16*c holds pairs g = 0, 1, …, which belong to elements 4g to 4g+3 of B in
 *                   lane j + 16*c; two bits each of the index in A's lane say which of the four
 * 4-bit matrices of 16 columns fill 32 lanes of a wave of 64 only; the B that goes with a sparse one fills all of them.
 * Not known to us, and so not emulated: copies that differ on RDNA3, signs of 8-bit floats, clamping of floats.
 * Source: RDNA3 ISA and RDNA4 ISA, "Wave Matrix Multiply Accumulate", "Matrix element storage in VGPRs" and
 * "Structured sparse matrices"; for pairs and chunks of sparse matrices the public emulator of ROCm agrees.
 */
#include "machine/fault.h"
#include "machine/formats.h"
#include "machine/lanes.h"

typedef enum { IN_F16, IN_BF16, IN_IU8, IN_IU4, IN_FP8, IN_BF8 } InType;
typedef enum { OUT_F32, OUT_F16, OUT_BF16, OUT_I32 } OutType;

enum { SIZE = 16, MAX_K = 64, A = 0, B = 1, C = 2, INDEX = 3 };

static const u8 width_of[] = {[IN_F16] = 16, [IN_BF16] = 16, [IN_IU8] = 8, [IN_IU4] = 4, [IN_FP8] = 8, [IN_BF8] = 8};

/* What a row says; detail: sparse, K, blocks, type of A, type of B, type of D; the first four as for MFMA. */
static bool is_sparse(const Inst *i) { return i->row->detail[0]; }
static u32 depth_of(const Inst *i) { return i->row->detail[1]; }
static InType type_of(const Inst *i, int operand) { return (InType)i->row->detail[3 + operand]; }
static OutType result_type(const Inst *i) { return (OutType)i->row->detail[5]; }
static bool has_signs(InType t) { return t == IN_F16 || t == IN_BF16; }
static bool is_integer(const Inst *i) { return result_type(i) == OUT_I32; }

/* ---- elements in registers ---- */

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

typedef union { float f; i32 n; } Element;

/* neg_lo and neg_hi flip the lower and the upper halves of registers; of integers neg_lo says that they have a sign. */
static Element element_at(Wave *w, const Inst *i, int operand, u32 lane, u32 element)
{
    InType type = type_of(i, operand);
    u32 width = width_of[type], bits = bits_at(w, i->source[operand], lane, element, width);
    if (is_integer(i))
        return (Element){.n = int_of(bits, width, i->neg >> operand & 1)};
    float f = float_of(bits, type);
    return (Element){.f = (element % 2 ? i->neg_hi : i->neg) >> operand & 1 ? -f : f};
}

static u32 chunks_of(const Wave *w, const Inst *i, u32 columns)
{
    bool narrow = width_of[type_of(i, A)] == 4 && columns == 16;
    return narrow ? 2 : wave_lanes(w) / SIZE;
}

/* A[n][0…K-1], or column n of B. */
static void gather_dense(Wave *w, const Inst *i, int operand, u32 n, Element *out)
{
    u32 depth = depth_of(i), per_lane = depth / chunks_of(w, i, depth);
    bool rdna3 = w->program->generation == GFX11;
    for (u32 k = 0; k < depth; k++)
        out[k] = rdna3 ? element_at(w, i, operand, n, k)
                       : element_at(w, i, operand, n + SIZE * (k / per_lane), k % per_lane);
}

/* Row n of a sparse A with its zeros. An index that breaks the rule (the first less than the second) hits nothing. */
static void gather_sparse(Wave *w, const Inst *i, u32 n, Element *out)
{
    u32 columns = depth_of(i) / 2, per_lane = columns / chunks_of(w, i, columns), bits = 2 * per_lane;
    memset(out, 0, depth_of(i) * sizeof *out);
    for (u32 at = 0; at < columns; at += 2) {
        u32 lane = n + SIZE * (at / per_lane), element = at % per_lane;
        u64 indices = vector(w, i->source[INDEX])[lane] >> bits * i->index_key % 32;
        u32 first = indices >> 2 * element & 3, second = indices >> (2 * element + 2) & 3;
        if (second > 0)
            out[2 * at + second] = element_at(w, i, A, lane, element + 1);
        if (first < 3)
            out[2 * at + first] = element_at(w, i, A, lane, element);
    }
}

/* The column of B that goes with a sparse A. */
static void gather_beside_sparse(Wave *w, const Inst *i, u32 n, Element *out)
{
    u32 depth = depth_of(i), chunks = wave_lanes(w) / SIZE, per_lane = depth / chunks;
    bool parted = chunks_of(w, i, depth / 2) < chunks; /* A's chunk goes with two of B: its own, and the one 32 lanes on */
    for (u32 k = 0; k < depth; k++) {
        u32 chunk = k / per_lane;
        if (parted)
            chunk = chunk / 2 + chunk % 2 * 2;
        out[k] = element_at(w, i, B, n + SIZE * chunk, k % per_lane);
    }
}

/* RDNA3 requires the same data in every sixteen lanes; other data is not documented. */
static bool copies_differ(Wave *w, const Inst *i, int operand)
{
    u32 registers = (depth_of(i) * width_of[type_of(i, operand)] + 31) / 32;
    for (u32 r = 0; r < registers; r++)
        for (u32 l = SIZE; l < wave_lanes(w); l++)
            if (vector(w, i->source[operand] + r)[l] != vector(w, i->source[operand] + r)[l % SIZE])
                return true;
    return false;
}

/* ---- C and D ---- */

/* Register, lane and shift of D[row][column]. */
typedef struct { u32 reg, lane, shift; } Cell;

static Cell result_cell(const Wave *w, const Inst *i, u32 row, u32 column)
{
    bool half = result_type(i) == OUT_F16 || result_type(i) == OUT_BF16;
    u32 groups = wave_lanes(w) / SIZE;
    if (w->program->generation == GFX11)
        return (Cell){row / groups, column + SIZE * (row % groups), half && i->op_sel & 4 ? 16 : 0};
    u32 at = row % (SIZE / groups), lane = column + SIZE * (row / 8) + (w->wave32 ? 0 : 32 * (row / 4 % 2));
    return half ? (Cell){at / 2, lane, at % 2 * 16} : (Cell){at, lane, 0};
}

static u32 c_bits(Wave *w, const Inst *i, Cell at)
{
    return (i->source[C] >= FIRST_VGPR ? vector(w, i->source[C] + at.reg)[at.lane] : scalar32(w, i, C)) >> at.shift;
}

/* Of C neg_lo is the sign's flip and neg_hi its removal. */
static float c_float(const Inst *i, u32 bits)
{
    OutType type = result_type(i);
    float f = type == OUT_F32 ? f32_of(bits) : type == OUT_F16 ? f16_of((u16)bits) : bf16_of((u16)bits);
    if (i->neg_hi >> C & 1)
        f = fabsf(f);
    return i->neg >> C & 1 ? -f : f;
}
static u32 d_bits(float x, OutType type)
{
    return type == OUT_F32 ? bits_f32(x) : type == OUT_F16 ? bits_f16(x) : bits_bf16(x);
}

static float sum_floats(Wave *w, const Inst *i, const Element *a, const Element *b, Cell at)
{
    float sum = c_float(i, c_bits(w, i, at));
    for (u32 k = 0; k < depth_of(i); k++)
        sum = __builtin_fmaf(a[k].f, b[k].f, sum);
    return sum;
}
/* With `clamp` the sum saturates at the end. */
static u32 sum_integers(Wave *w, const Inst *i, const Element *a, const Element *b, Cell at)
{
    i64 sum = (i32)c_bits(w, i, at);
    for (u32 k = 0; k < depth_of(i); k++)
        sum += (i64)a[k].n * b[k].n;
    if (i->clamp)
        sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    return (u32)sum;
}

/* ---- the product ---- */

static bool supported(Wave *w, const Inst *i)
{
    bool rdna3 = w->program->generation == GFX11, modified;
    if (is_integer(i))
        modified = i->neg >> C & 1 || i->neg_hi;
    else
        modified = i->clamp || (!has_signs(type_of(i, A)) && ((i->neg | i->neg_hi) & 3)) || (is_sparse(i) && (i->neg | i->neg_hi));
    bool index = !is_sparse(i) || i->source[INDEX] >= FIRST_VGPR;
    if (index && !modified && !(i->op_sel & 3) && !(rdna3 && (copies_differ(w, i, A) || copies_differ(w, i, B))))
        return true;
    fault_not_emulated(w, i);
    return false;
}

static void run_wmma(Wave *w, const Inst *i)
{
    Element a[SIZE][MAX_K], b[SIZE][MAX_K];
    u32 d[SIZE][SIZE];
    if (!supported(w, i))
        return;
    for (u32 n = 0; n < SIZE; n++) {
        if (is_sparse(i)) {
            gather_sparse(w, i, n, a[n]);
            gather_beside_sparse(w, i, n, b[n]);
        } else {
            gather_dense(w, i, A, n, a[n]);
            gather_dense(w, i, B, n, b[n]);
        }
    }
    for (u32 row = 0; row < SIZE; row++)
        for (u32 column = 0; column < SIZE; column++) {
            Cell at = result_cell(w, i, row, column);
            d[row][column] = is_integer(i) ? sum_integers(w, i, a[row], b[column], at)
                                           : d_bits(sum_floats(w, i, a[row], b[column], at), result_type(i));
        }
    u32 field = result_type(i) == OUT_F16 || result_type(i) == OUT_BF16 ? 0xffff : ~0u;
    for (u32 row = 0; row < SIZE; row++)
        for (u32 column = 0; column < SIZE; column++) {
            Cell at = result_cell(w, i, row, column);
            u32 *to = &vector(w, i->dst + at.reg)[at.lane];
            *to = (*to & ~(field << at.shift)) | d[row][column] << at.shift;
        }
}

#define MATRIX(name, in, mods, sparse, k, a, b, d) \
    {.mnemonic = #name, .run = run_wmma, .layout = in, .family = FAMILY_MFMA, .result = TYPE_WIDE, \
     .source = {TYPE_WIDE, TYPE_WIDE, TYPE_##d, TYPE_U32}, .modifiers = MOD_NEG_LO_HI | MOD_CLAMP | (mods), \
     .bytes = SIZE, .detail = {sparse, k, 1, IN_##a, IN_##b, OUT_##d}},
#define WMMA(name, k, a, b, d) MATRIX(name, "d012", MOD_OP_SEL, false, k, a, b, d)
#define SWMMAC(name, k, a, b, d) MATRIX(name, "x013", MOD_INDEX_KEY, true, k, a, b, d)

static const Row rows[] = {
#include "isa/wmma.def"
};
const RowTable isa_wmma = {rows, sizeof rows / sizeof *rows};
