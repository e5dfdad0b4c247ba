/*
 * Matrix products of 8-, 6- and 4-bit floats in any mixture, with a scale for each 32 elements of a row or column.
 *
 * CBSZ says the format of A, BLGP that of B: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4. A lane holds 32 elements of row i one
 * after the other in as many bits as they need; lanes i + M * g for g = 0, 1, … share the row (B alike, with j for i):
 *   6 and 4 bits   A[i][32 * g + e] is element e
 *   8 bits         A[i][16 * g + e] is element e, and after the first 16 of every lane come those of the upper half of K
 * The scale of A[i][32 * g] to A[i][32 * g + 31] is in lane i + M * g, whichever lanes hold them: the byte of the scale
 * register that op_sel (bit 0) and op_sel_hi (bit 1) name. The sum of a block of 32 is exact here and rounds when it is
 * added to D.
 * Source: LLVM AMDGPUUsage and its tests for gfx950, "mfma.scale"; OCP Microscaling Formats 1.0, section 6; the register
 * mappings in Composable Kernel's test/mx_mfma_op, which AMD runs on the hardware.
 */
#include "machine/fault.h"
#include "machine/formats.h"
#include "machine/lanes.h"

enum { BLOCK = 32, CHUNK = 16, LARGEST = 32, MAX_K = 128 };

/* By row of A or column of B; the scales by lane. */
typedef struct { double element[LARGEST][MAX_K], scale[LANES]; } Operand;

static bool format_of(u8 code, Float8 *out)
{
    const Float8 formats[] = {FP8_OCP, BF8_OCP, FP6, BF6, FP4};
    if (code >= sizeof formats / sizeof *formats)
        return false;
    *out = formats[code];
    return true;
}

static u8 field(Wave *w, u16 operand, int lane, int bit, int width)
{
    u32 low = vector(w, operand + bit / 32)[lane] >> bit % 32;
    if (bit % 32 + width > 32)
        low |= vector(w, operand + bit / 32 + 1)[lane] << (32 - bit % 32);
    return (u8)(low & ((1u << width) - 1));
}

/* Where element e of the lanes of a group lies along K. */
static int depth_of(int group, int e, int m, Float8 f)
{
    if (f8_width(f) < 8)
        return BLOCK * group + e;
    return CHUNK * group + e % CHUNK + e / CHUNK * CHUNK * (LANES / m);
}

static void read_elements(Wave *w, u16 operand, Float8 f, int m, Operand *out)
{
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < BLOCK; e++)
            out->element[l % m][depth_of(l / m, e, m, f)] = f8_of(field(w, operand, l, e * f8_width(f), f8_width(f)), f);
}

/* Source 3 scales A, source 4 scales B. */
static void read_scales(Wave *w, const Inst *i, int which, Operand *out)
{
    int k = 3 + which, byte = (i->op_sel >> which & 1) + 2 * (i->op_sel_hi >> which & 1);
    for (int l = 0; l < LANES; l++) {
        u32 x = i->source[k] >= FIRST_VGPR ? vector(w, i->source[k])[l] : scalar32(w, i, k);
        out->scale[l] = e8m0_of((u8)(x >> 8 * byte));
    }
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int e = 0; e < BLOCK; e++)
        sum += a[e] * b[e];
    return sum;
}

/* Register and lane of D[row][column] are those of the other products of this shape, see mfma.c. */
static u32 *result_cell(u32 (*d)[LANES], int m, int row, int column)
{
    if (m == 32)
        return &d[4 * (row / 8) + row % 4][column + 32 * (row / 4 % 2)];
    return &d[row % 4][column + 16 * (row / 4)];
}

static void multiply(const Operand *a, const Operand *b, int m, u32 (*d)[LANES])
{
    for (int row = 0; row < m; row++)
        for (int column = 0; column < m; column++) {
            u32 *cell = result_cell(d, m, row, column);
            for (int block = 0; block < LANES / m; block++) {
                double product = dot(&a->element[row][BLOCK * block], &b->element[column][BLOCK * block]);
                product *= a->scale[row + m * block] * b->scale[column + m * block];
                *cell = bits_f32((float)((double)f32_of(*cell) + product));
            }
        }
}

static void run_f8f6f4(Wave *w, const Inst *i)
{
    Float8 format_a, format_b;
    Operand a, b;
    u32 d[LARGEST * LARGEST / LANES][LANES];
    int m = i->row->bytes, registers = m * m / LANES;
    if (i->abid || !format_of(i->cbsz, &format_a) || !format_of(i->blgp, &format_b)) {
        fault_not_emulated(w, i);
        return;
    }
    read_elements(w, i->source[0], format_a, m, &a);
    read_elements(w, i->source[1], format_b, m, &b);
    for (int l = 0; l < LANES; l++)
        a.scale[l] = b.scale[l] = 1;
    if (i->source[3] != SOURCE_OFF) {
        read_scales(w, i, 0, &a);
        read_scales(w, i, 1, &b);
    }
    for (int r = 0; r < registers; r++)
        for (int l = 0; l < LANES; l++)
            d[r][l] = i->source[2] >= FIRST_VGPR ? vector(w, i->source[2] + r)[l] : scalar32(w, i, 2);
    multiply(&a, &b, m, d);
    for (int r = 0; r < registers; r++)
        memcpy(vector(w, i->dst + r), d[r], sizeof d[r]);
}

/* detail as in mfma.c: K and blocks, for the counters. */
#define ROW(name, in, m, k, mods) \
    {.mnemonic = name, .run = run_f8f6f4, .layout = in, .family = FAMILY_MFMA, .result = TYPE_WIDE, \
     .source = {TYPE_WIDE, TYPE_WIDE, TYPE_F32, TYPE_U32, TYPE_U32}, .modifiers = MOD_MFMA | (mods), .bytes = m, \
     .detail = {0, k, 1}}

static const Row rows[] = {
    ROW("v_mfma_f32_16x16x128_f8f6f4", "d012", 16, 128, 0),
    ROW("v_mfma_f32_32x32x64_f8f6f4", "d012", 32, 64, 0),
    ROW("v_mfma_scale_f32_16x16x128_f8f6f4", "d01234", 16, 128, MOD_PART | MOD_OP_SEL_HI),
    ROW("v_mfma_scale_f32_32x32x64_f8f6f4", "d01234", 32, 64, MOD_PART | MOD_OP_SEL_HI),
};
const RowTable isa_mfma_scale = {rows, sizeof rows / sizeof *rows};
