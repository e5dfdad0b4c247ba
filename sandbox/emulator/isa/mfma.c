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
#include "machine/fault.h"
#include "machine/formats.h"
#include "machine/lanes.h"

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

static void expand_ints(Wave *w, u16 operand, int per, i32 (*out)[LANES])
{
    for (int j = 0; j < per; j++) {
        const u32 *v = vector(w, operand + j / 4);
        for (int l = 0; l < LANES; l++)
            out[j][l] = (int8_t)(v[l] >> 8 * (j % 4));
    }
}

/*
 * d += a * b, with the rows of D where they lie. a[k] and b[k] are column k of A and row k of B: each fills lanes side by
 * side, as each row of D does. Four rows at a time, so that no product waits for the one before it, and as many columns
 * as fit in registers of the host; inlined with that constant number.
 */
enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 16 };
#define ADD_PRODUCTS(name, type, fused) \
    static inline __attribute__((always_inline)) void name##_at(u32 (*d)[LANES], Shape s, int block, int row, int column, \
                                                                const type *const *a, const type *const *b, const int columns) \
    { \
        type sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE]; \
        for (int r = 0; r < ROWS_AT_ONCE; r++) \
            memcpy(sum[r], result_cell(d, s, block, row + r, column), (u64)columns * sizeof(type)); \
        _Pragma("clang loop vectorize(disable)") for (int k = 0; k < s.k; k++) \
            for (int r = 0; r < ROWS_AT_ONCE; r++) \
                for (int j = 0; j < columns; j++) \
                    sum[r][j] = fused(a[k][row + r], b[k][column + j], sum[r][j]); \
        for (int r = 0; r < ROWS_AT_ONCE; r++) \
            memcpy(result_cell(d, s, block, row + r, column), sum[r], (u64)columns * sizeof(type)); \
    } \
    static void name(u32 (*d)[LANES], Shape s, int block, const type *const *a, const type *const *b) \
    { \
        for (int row = 0; row < s.m; row += ROWS_AT_ONCE) \
            for (int column = 0; column < s.m; column += COLUMNS_AT_ONCE) \
                if (s.m == 4) \
                    name##_at(d, s, block, row, column, a, b, 4); \
                else \
                    name##_at(d, s, block, row, column, a, b, COLUMNS_AT_ONCE); \
    }
static inline u32 multiply_add_int(u32 a, u32 b, u32 c) { return a * b + c; }
ADD_PRODUCTS(add_products, float, __builtin_fmaf)
ADD_PRODUCTS(add_int_products, u32, multiply_add_int)

/* Elements of A and B by element and lane. 32-bit words: floats or integers. */
typedef struct { u32 a[MOST_ELEMENTS][LANES], b[MOST_ELEMENTS][LANES]; } Elements;

/* B's lanes in the order that BLGP asks for. */
static void regroup(const Inst *i, int per, u32 (*b)[LANES])
{
    u32 from[LANES];
    for (int j = 0; i->blgp && j < per; j++) {
        memcpy(from, b[j], sizeof from);
        for (int l = 0; l < LANES; l++)
            b[j][l] = from[lane_group(l, i->blgp)];
    }
}

/* Where column k of A and row k of B begin. */
static void list_columns(const Inst *i, Shape s, int block, const Elements *e, const u32 **a, const u32 **b)
{
    int per = s.m * s.k * s.blocks / LANES, from = block_of_a(i, block);
    for (int k = 0; k < s.k; k++) {
        a[k] = &e->a[k % per][lane_of_input(s, 0, from, k, per)];
        b[k] = &e->b[k % per][lane_of_input(s, 0, block, k, per)];
    }
}

/* A broadcast of blocks that this shape lacks is a reserved encoding. */
static bool reserved(Wave *w, const Inst *i, Shape s)
{
    if (1 << i->cbsz <= s.blocks && i->abid < 1 << i->cbsz)
        return false;
    fault_not_emulated(w, i);
    return true;
}

static void run_mfma_f32(Wave *w, const Inst *i)
{
    u32 d[32][LANES] __attribute__((aligned(64)));
    const u32 *a[MAX_K], *b[MAX_K];
    Elements e;
    Shape s = shape_of(i);
    int per = s.m * s.k * s.blocks / LANES;
    if (reserved(w, i, s))
        return;
    expand(w, i->source[0], per, s.a, (float(*)[LANES])e.a);
    expand(w, i->source[1], per, s.b, (float(*)[LANES])e.b);
    regroup(i, per, e.b);
    read_c(w, i, 2, result_registers(s), d);
    for (int block = 0; block < s.blocks; block++) {
        list_columns(i, s, block, &e, a, b);
        add_products(d, s, block, (const float *const *)a, (const float *const *)b);
    }
    write_d(w, i, result_registers(s), d);
}

static void run_mfma_i32(Wave *w, const Inst *i)
{
    u32 d[32][LANES] __attribute__((aligned(64)));
    const u32 *a[MAX_K], *b[MAX_K];
    Elements e;
    Shape s = shape_of(i);
    int per = s.m * s.k * s.blocks / LANES;
    if (reserved(w, i, s))
        return;
    expand_ints(w, i->source[0], per, (i32(*)[LANES])e.a);
    expand_ints(w, i->source[1], per, (i32(*)[LANES])e.b);
    regroup(i, per, e.b);
    read_c(w, i, 2, result_registers(s), d);
    for (int block = 0; block < s.blocks; block++) {
        list_columns(i, s, block, &e, a, b);
        add_int_products(d, s, block, a, b);
    }
    write_d(w, i, result_registers(s), d);
}

/* One register pair of every lane as doubles, or one constant. */
static void expand_doubles(Wave *w, const Inst *i, int k, int pair_number, double *out)
{
    bool constant = i->source[k] < FIRST_VGPR, negative = i->neg >> k & 1;
    double all = constant ? f64_of(scalar64(w, i, k)) : 0;
    const u32 *v = constant ? NULL : vector(w, i->source[k] + 2 * pair_number);
    for (int l = 0; l < LANES; l++) {
        double x = constant ? all : f64_of(pair(v[l], v[LANES + l]));
        out[l] = negative ? -x : x;
    }
}

/* Row r of D lies in lanes side by side: see at the top. */
static void block_f64(Shape s, int block, const double *a, const double *b, double (*d)[LANES])
{
    for (int r = 0; r < s.m; r++) {
        double *sum = s.m == 16 ? &d[r / 4][16 * (r % 4)] : &d[0][4 * block + 16 * r];
        for (int k = 0; k < s.k; k++) {
            double x = a[lane_of_input(s, r, block, k, 1)];
            const double *row = &b[lane_of_input(s, 0, block, k, 1)];
            for (int j = 0; j < s.m; j++)
                sum[j] = __builtin_fma(x, row[j], sum[j]);
        }
    }
}

static void run_mfma_f64(Wave *w, const Inst *i)
{
    double a[LANES], b[LANES], d[4][LANES];
    Shape s = shape_of(i);
    int pairs = result_registers(s);
    if (i->cbsz || i->abid || i->blgp) {
        fault_not_emulated(w, i);
        return;
    }
    expand_doubles(w, i, 0, 0, a);
    expand_doubles(w, i, 1, 0, b);
    for (int r = 0; r < pairs; r++)
        expand_doubles(w, i, 2, r, d[r]);
    for (int block = 0; block < s.blocks; block++)
        block_f64(s, block, a, b, d);
    for (int r = 0; r < pairs; r++)
        for (int l = 0; l < LANES; l++) {
            vector(w, i->dst + 2 * r)[l] = (u32)bits_f64(d[r][l]);
            vector(w, i->dst + 2 * r + 1)[l] = (u32)(bits_f64(d[r][l]) >> 32);
        }
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
        fault_not_emulated(w, i);
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
#include "isa/mfma.def"
};
const RowTable isa_mfma = {rows, sizeof rows / sizeof *rows};
