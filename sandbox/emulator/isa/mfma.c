/*
 * Matrix instructions as one function of shape and types.  They ignore EXEC.
 *
 * Where an element lives (per = M*K*blocks/64 elements of A a lane):
 *   A[i][k] of block b   lane i + M*(b + blocks*(k/per)), element k%per        B[k][j] alike, with j for i
 *   D[i][j] of block b   32x32: register 16*b + 4*(i/8) + i%4, lane j + 32*(i/4%2)
 *                        16x16: register 4*b + i%4, lane j + 16*(i/4)          4x4: register i, lane j + 4*b
 *   D in f64             16x16: register i/4, lane j + 16*(i%4)                4x4: lane j + 4*b + 16*i
 * Source: CDNA3 ISA, "Matrix Arithmetic Instructions"; AMD matrix instruction calculator.
 */
#include "../formats.h"
#include "../machine.h"

typedef enum { IN_F32, IN_F16, IN_BF16, IN_XF32, IN_FP8, IN_BF8, IN_I8, IN_F64 } InType;

enum { LARGEST = 32, MAX_K = 128 };

typedef struct { int m, k, blocks; InType a, b; } Shape;

static Shape shape_of(const Inst *i)
{
    const Row *r = i->row;
    return (Shape){r->bytes, r->detail[1], r->detail[2], (InType)r->detail[3], (InType)r->detail[4]};
}

/* XF32 keeps ten bits of the mantissa. */
static float xf32_of(u32 bits)
{
    if ((bits & 0x7f800000) != 0x7f800000)
        bits = (bits + 0x0fff + (bits >> 13 & 1)) & ~0x1fffu;
    return f32_of(bits);
}

/* Element j of a lane's registers. */
static float float_element(Wave *w, u16 operand, int lane, int j, InType type)
{
    bool ocp = w->program->ocp_float8, flush = w->program->flushes_halves;
    switch (type) {
    case IN_F16: {
        u16 x = (u16)(vector(w, operand + j / 2)[lane] >> 16 * (j % 2));
        return flush ? f16_or_zero(x) : f16_of(x);
    }
    case IN_BF16: {
        u16 x = (u16)(vector(w, operand + j / 2)[lane] >> 16 * (j % 2));
        return flush && !(x & 0x7f80) ? 0 : bf16_of(x);
    }
    case IN_XF32: return xf32_of(vector(w, operand + j)[lane]);
    case IN_FP8: return f8_of((u8)(vector(w, operand + j / 4)[lane] >> 8 * (j % 4)), ocp ? FP8_OCP : FP8_FNUZ);
    case IN_BF8: return f8_of((u8)(vector(w, operand + j / 4)[lane] >> 8 * (j % 4)), ocp ? BF8_OCP : BF8_FNUZ);
    default: return f32_of(vector(w, operand + j)[lane]);
    }
}
static int int_element(Wave *w, u16 operand, int lane, int j)
{
    return (int8_t)(vector(w, operand + j / 4)[lane] >> 8 * (j % 4));
}
static double double_element(Wave *w, u16 operand, int lane, int j)
{
    return f64_of(pair(vector(w, operand + 2 * j)[lane], vector(w, operand + 2 * j + 1)[lane]));
}

/* The lane that feeds matrix B's lane.  CDNA3 ISA, "BLGP". */
static int lane_group(int lane, int blgp)
{
    switch (blgp) {
    case 0: return lane;
    case 1: return lane & 31;
    case 2: return lane | 32;
    case 3: return (lane + 16) & 63;
    default: return (lane & 15) + 16 * (blgp - 4);
    }
}

/* CBSZ lets 2^cbsz neighbouring blocks of A all read the one that ABID names. */
static int block_of_a(const Inst *i, int block)
{
    int group = 1 << i->cbsz;
    return (block & ~(group - 1)) + i->abid % group;
}

static int lane_of_input(Shape s, int row, int block, int k, int per)
{
    return row + s.m * (block + s.blocks * (k / per));
}

/* Register and lane of D[row][column], 32-bit results. */
static u32 *result_cell(u32 (*d)[LANES], Shape s, int block, int row, int column)
{
    if (s.m == 32)
        return &d[16 * block + 4 * (row / 8) + row % 4][column + 32 * (row / 4 % 2)];
    if (s.m == 16)
        return &d[4 * block + row % 4][column + 16 * (row / 4)];
    return &d[row][column + 4 * block];
}

static int result_registers(Shape s) { return s.m * s.m * s.blocks / LANES; }

/* C, from registers or one constant for all. */
static void read_c(Wave *w, const Inst *i, int k, int registers, u32 (*c)[LANES])
{
    for (int r = 0; r < registers; r++) {
        if (i->source[k] >= FIRST_VGPR) {
            memcpy(c[r], vector(w, i->source[k] + r), sizeof c[r]);
            continue;
        }
        u32 x = scalar32(w, i, k);
        for (int l = 0; l < LANES; l++)
            c[r][l] = x;
    }
}
static void write_d(Wave *w, const Inst *i, int registers, u32 (*d)[LANES])
{
    for (int r = 0; r < registers; r++)
        memcpy(vector(w, i->dst + r), d[r], sizeof d[r]);
}

enum { MOST_ELEMENTS = 32 };

/* All elements of an operand as floats, by element and lane: the type is looked at once. */
static void expand(Wave *w, u16 operand, int per, InType type, float (*out)[LANES])
{
    for (int j = 0; j < per; j++) {
        if (type == IN_F32) {
            memcpy(out[j], vector(w, operand + j), sizeof out[j]);
        } else if (type == IN_F16 && !w->program->flushes_halves) {
            const u32 *v = vector(w, operand + j / 2);
            for (int l = 0; l < LANES; l++)
                out[j][l] = f16_of((u16)(v[l] >> 16 * (j % 2)));
        } else {
            for (int l = 0; l < LANES; l++)
                out[j][l] = float_element(w, operand, l, j, type);
        }
    }
}

/* d += a * b, row by row; inlined with a constant number of columns. */
static inline __attribute__((always_inline)) void add_products(float (*d)[LARGEST], const float (*a)[MAX_K],
                                                               const float (*b)[LARGEST], int depth, const int m)
{
    for (int r = 0; r < m; r++)
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < m; j++)
                d[r][j] = __builtin_fmaf(a[r][k], b[k][j], d[r][j]);
}

typedef struct { float a[MOST_ELEMENTS][LANES], b[MOST_ELEMENTS][LANES]; } Elements;

static void block_f32(const Inst *i, Shape s, int block, const Elements *e, u32 (*d)[LANES])
{
    float a[LARGEST][MAX_K], b[MAX_K][LARGEST], sum[LARGEST][LARGEST];
    int per = s.m * s.k * s.blocks / LANES, from = block_of_a(i, block);
    for (int k = 0; k < s.k; k++) {
        const float *row = &e->a[k % per][lane_of_input(s, 0, from, k, per)], *column = e->b[k % per];
        int lane = lane_of_input(s, 0, block, k, per);
        for (int n = 0; n < s.m; n++)
            a[n][k] = row[n];
        for (int n = 0; n < s.m; n++)
            b[k][n] = column[i->blgp ? lane_group(lane + n, i->blgp) : lane + n];
    }
    u64 row_bytes = (u64)s.m * sizeof(float); /* the columns of a row lie in lanes side by side */
    for (int r = 0; r < s.m; r++)
        memcpy(sum[r], result_cell(d, s, block, r, 0), row_bytes);
    if (s.m == 32)
        add_products(sum, a, b, s.k, 32);
    else if (s.m == 16)
        add_products(sum, a, b, s.k, 16);
    else
        add_products(sum, a, b, s.k, 4);
    for (int r = 0; r < s.m; r++)
        memcpy(result_cell(d, s, block, r, 0), sum[r], row_bytes);
}

static void block_i32(Wave *w, const Inst *i, Shape s, int block, u32 (*d)[LANES])
{
    int a[LARGEST][MAX_K], b[MAX_K][LARGEST];
    int per = s.m * s.k * s.blocks / LANES;
    for (int k = 0; k < s.k; k++)
        for (int n = 0; n < s.m; n++) {
            a[n][k] = int_element(w, i->source[0], lane_of_input(s, n, block_of_a(i, block), k, per), k % per);
            int lane = lane_group(lane_of_input(s, n, block, k, per), i->blgp);
            b[k][n] = int_element(w, i->source[1], lane, k % per);
        }
    for (int r = 0; r < s.m; r++)
        for (int j = 0; j < s.m; j++) {
            u32 sum = *result_cell(d, s, block, r, j);
            for (int k = 0; k < s.k; k++)
                sum += (u32)(a[r][k] * b[k][j]);
            *result_cell(d, s, block, r, j) = sum;
        }
}

/* A broadcast of blocks that this shape has not is a reserved encoding. */
static bool reserved(Wave *w, const Inst *i, Shape s)
{
    if (1 << i->cbsz <= s.blocks && i->abid < 1 << i->cbsz)
        return false;
    run_not_emulated(w, i);
    return true;
}

static void run_mfma_f32(Wave *w, const Inst *i)
{
    u32 d[32][LANES] __attribute__((aligned(64)));
    Shape s = shape_of(i);
    if (reserved(w, i, s))
        return;
    Elements e;
    int per = s.m * s.k * s.blocks / LANES;
    expand(w, i->source[0], per, s.a, e.a);
    expand(w, i->source[1], per, s.b, e.b);
    read_c(w, i, 2, result_registers(s), d);
    for (int block = 0; block < s.blocks; block++)
        block_f32(i, s, block, &e, d);
    write_d(w, i, result_registers(s), d);
}

static void run_mfma_i32(Wave *w, const Inst *i)
{
    u32 d[32][LANES] __attribute__((aligned(64)));
    Shape s = shape_of(i);
    if (reserved(w, i, s))
        return;
    read_c(w, i, 2, result_registers(s), d);
    for (int block = 0; block < s.blocks; block++)
        block_i32(w, i, s, block, d);
    write_d(w, i, result_registers(s), d);
}

static double c_double(Wave *w, const Inst *i, int reg, int lane)
{
    double c = i->source[2] >= FIRST_VGPR ? double_element(w, i->source[2], lane, reg) : f64_of(scalar64(w, i, 2));
    return i->neg & 4 ? -c : c;
}

static void run_mfma_f64(Wave *w, const Inst *i)
{
    u32 d[8][LANES];
    Shape s = shape_of(i);
    if (i->cbsz || i->abid || i->blgp) {
        run_not_emulated(w, i);
        return;
    }
    for (int block = 0; block < s.blocks; block++)
        for (int r = 0; r < s.m; r++)
            for (int j = 0; j < s.m; j++) {
                int reg = s.m == 16 ? r / 4 : 0;
                int lane = s.m == 16 ? j + 16 * (r % 4) : j + 4 * block + 16 * r;
                double sum = c_double(w, i, reg, lane);
                for (int k = 0; k < s.k; k++) {
                    double a = double_element(w, i->source[0], lane_of_input(s, r, block, k, 1), 0);
                    double b = double_element(w, i->source[1], lane_of_input(s, j, block, k, 1), 0);
                    sum = __builtin_fma(i->neg & 1 ? -a : a, i->neg & 2 ? -b : b, sum);
                }
                d[2 * reg][lane] = (u32)bits_f64(sum);
                d[2 * reg + 1][lane] = (u32)(bits_f64(sum) >> 32);
            }
    write_d(w, i, 2 * result_registers(s), d);
}

/*
 * Sparse A: element e of a lane stands for one of the four columns of group e/2 of that lane; two bits of the index
 * register say which.  16-bit elements: 4 a lane, 8 index bits, chosen by ABID if CBSZ is 0.  8-bit: 8 a lane, 16 bits.
 * Source: CDNA3 ISA, "Sparse Matrices"; AMD matrix instruction calculator, "Sparse Matrix Compression Indices".
 */
static int sparse_column(Wave *w, const Inst *i, int lane, int element, int per)
{
    u32 index = vector(w, i->source[2])[lane];
    if (!i->cbsz)
        index >>= 2 * per * i->abid;
    return 4 * (element / 2) + (int)(index >> 2 * element & 3);
}

static void read_sparse_a(Wave *w, const Inst *i, Shape s, float (*a)[MAX_K], bool (*held)[MAX_K])
{
    int per = s.m * s.k / LANES / 2, groups = LANES / s.m;
    for (int n = 0; n < s.m; n++)
        for (int g = 0; g < groups; g++)
            for (int e = 0; e < per; e++) {
                int lane = n + s.m * g;
                int k = 2 * per * g + sparse_column(w, i, lane, e, per);
                float x = s.a == IN_I8 ? (float)int_element(w, i->source[0], lane, e)
                                       : float_element(w, i->source[0], lane, e, s.a);
                a[n][k] = x;
                held[n][k] = true;
            }
}

static void run_smfmac(Wave *w, const Inst *i)
{
    float a[LARGEST][MAX_K];
    bool held[LARGEST][MAX_K] = {{false}};
    u32 d[16][LANES];
    Shape s = shape_of(i);
    int per = s.m * s.k / LANES;
    if (i->blgp || i->abid * per >= 32 || i->source[2] < FIRST_VGPR) {
        run_not_emulated(w, i);
        return;
    }
    read_sparse_a(w, i, s, a, held);
    for (int r = 0; r < result_registers(s); r++)
        memcpy(d[r], vector(w, i->dst + r), sizeof d[r]);
    for (int r = 0; r < s.m; r++)
        for (int j = 0; j < s.m; j++) {
            u32 *cell = result_cell(d, s, 0, r, j);
            float sum = f32_of(*cell);
            u32 whole = *cell;
            for (int k = 0; k < s.k; k++) {
                int lane = lane_of_input(s, j, 0, k, per);
                if (!held[r][k])
                    continue;
                if (s.a == IN_I8)
                    whole += (u32)((int)a[r][k] * int_element(w, i->source[1], lane, k % per));
                else
                    sum = __builtin_fmaf(a[r][k], float_element(w, i->source[1], lane, k % per, s.b), sum);
            }
            *cell = s.a == IN_I8 ? whole : bits_f32(sum);
        }
    write_d(w, i, result_registers(s), d);
}

#define RUN_F32 run_mfma_f32
#define RUN_I32 run_mfma_i32
#define RUN_F64 run_mfma_f64

/* detail: -, K, blocks, type of A, type of B, sparse */
#define MFMA(name, m, k, blocks_, a, b, d) \
    {.mnemonic = #name, .run = RUN_##d, .layout = "d012", .family = FAMILY_MFMA, .result = TYPE_WIDE, \
     .source = {TYPE_WIDE, TYPE_WIDE, TYPE_##d, TYPE_NONE}, \
     .modifiers = MOD_MFMA | (IN_##a == IN_F64 ? MOD_NEG : 0), .bytes = m, \
     .detail = {0, k, blocks_, IN_##a, IN_##b, 0}},
#define SMFMAC(name, m, k, a, b, d) \
    {.mnemonic = #name, .run = run_smfmac, .layout = "d012", .family = FAMILY_MFMA, .result = TYPE_WIDE, \
     .source = {TYPE_WIDE, TYPE_WIDE, TYPE_U32, TYPE_NONE}, .modifiers = MOD_MFMA, .bytes = m, \
     .detail = {0, k, 1, IN_##a, IN_##b, 1}},

static const Row rows[] = {
#include "mfma.def"
};
const RowTable isa_mfma = {rows, sizeof rows / sizeof *rows};
