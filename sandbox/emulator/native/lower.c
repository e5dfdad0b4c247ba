#include "native/lower.h"

/* What a row needs besides its operation. */
enum {
    SWAPS = 1,           /* a op b is b op a, to the bit */
    MASK_OUT = 2,        /* writes a bit per lane to Inst.sdst */
    CARRY_IN = 4,        /* reads one from source 2 */
    FIXED_0 = 8, FIXED_1 = 16, FIXED_2 = 32, /* this source must be a constant */
    REVERSED = 64,       /* b op a */
};

typedef void Lower(Rows *r, const Inst *i, const Lowering *how);
struct Lowering {
    const char *mnemonic;
    Lower *lower;
    u32 op;
    u32 flags;
    u32 detail;
};

enum { CONSTANT_BYTES = 2 * 4 * LANES, UPPER_BYTES = 4 * LANES };

/* ---- operands ---- */

static u32 row_of(u32 operand) { return operand - FIRST_VGPR; }
static u32 fixed(const Inst *i, int k) { return (u32)i->constant[k]; }

static Operand source_operand(Rows *r, const Inst *i, int k)
{
    switch (i->how[k]) {
    case READ_PLAIN: return in_register(rows_read(r, row_of(i->source[k])));
    case READ_CONSTANT: return in_splat(AT_CONSTANTS, i->splat[k] * CONSTANT_BYTES);
    default: return in_splat(AT_WAVE, offsetof(Wave, s) + 4u * i->source[k]);
    }
}
/* The upper words of a source of 64 bits. */
static Operand upper_operand(Rows *r, const Inst *i, int k)
{
    switch (i->how[k]) {
    case READ_PLAIN: return in_register(rows_read(r, row_of(i->source[k]) + 1));
    case READ_CONSTANT: return in_splat(AT_CONSTANTS, i->splat[k] * CONSTANT_BYTES + UPPER_BYTES);
    default: return in_splat(AT_WAVE, offsetof(Wave, s) + 4u * (i->source[k] + 1u));
    }
}

static u8 to_register(Rows *r, Operand x)
{
    if (x.place == IN_REGISTER)
        return x.reg;
    u8 reg = rows_fresh(r);
    x86_vector(r->code, VPBROADCASTD, reg, NO_OPERAND, x, 0);
    return reg;
}
static u8 source_register(Rows *r, const Inst *i, int k) { return to_register(r, source_operand(r, i, k)); }

static u8 literal(Rows *r, u32 x)
{
    u8 reg = rows_fresh(r);
    x86_set(r->code, RAX, x);
    x86_vector(r->code, VPBROADCASTD_FROM_GENERAL, reg, NO_OPERAND, in_register(RAX), 0);
    return reg;
}
static u8 all_ones(Rows *r)
{
    u8 reg = rows_fresh(r);
    x86_vector_by(r->code, VPTERNLOGD, reg, reg, in_register(reg), 0, 0xff);
    return reg;
}

/* op(a, b) in a register of its own. */
static u8 computed(Rows *r, u32 op, u8 a, Operand b)
{
    u8 to = rows_fresh(r);
    x86_vector(r->code, op, to, a, b, 0);
    return to;
}
static u8 copied(Rows *r, Operand x)
{
    return computed(r, x.place == IN_SPLAT ? VPBROADCASTD : VMOVDQA32_LOAD, NO_OPERAND, x);
}
static void give(Rows *r, const Inst *i, u8 reg) { rows_bind(r, row_of(i->dst), reg); }
static void give_pair(Rows *r, const Inst *i, u8 low, u8 high)
{
    rows_bind(r, row_of(i->dst), low);
    rows_bind(r, row_of(i->dst) + 1, high);
}

/* ---- masks: 16 bits of a pair of scalars ---- */

enum { K_CARRY = 1, K_OTHER, K_IN, K_ODD };

static u64 mask_place(const Rows *r, u32 scalar) { return offsetof(Wave, s) + 4u * scalar + 2u * r->chunk; }
static void give_mask(Rows *r, const Inst *i, u8 mask) { x86_mask_store(r->code, mask, AT_WAVE, mask_place(r, i->sdst)); }

/* ---- bodies; the sources are a, b, c ---- */

static void move(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    give(r, i, copied(r, source_operand(r, i, 0)));
}
static void move_pair(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 low = copied(r, source_operand(r, i, 0)), high = copied(r, upper_operand(r, i, 0));
    give_pair(r, i, low, high);
}
static void one(Rows *r, const Inst *i, const Lowering *how)
{
    give(r, i, computed(r, how->op, NO_OPERAND, source_operand(r, i, 0)));
}
static void invert(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 to = copied(r, source_operand(r, i, 0));
    x86_vector_by(r->code, VPTERNLOGD, to, to, in_register(to), 0, (u8)~TRUTH_C);
    give(r, i, to);
}

static void two(Rows *r, const Inst *i, const Lowering *how)
{
    bool swap = how->flags & REVERSED || (how->flags & SWAPS && i->how[0] != READ_PLAIN);
    u8 a = source_register(r, i, swap);
    give(r, i, computed(r, how->op, a, source_operand(r, i, !swap)));
}

static u8 shifted_by(Rows *r, u8 x, u8 way, u32 count)
{
    u8 to = rows_fresh(r);
    x86_vector_by(r->code, VPSHIFTD_BY, way, to, in_register(x), 0, (u8)count);
    return to;
}
/* x shifted by the lower five bits of source k. */
static u8 shifted(Rows *r, const Inst *i, Operand x, int k, u32 op)
{
    u8 value = to_register(r, x), way = op == VPSLLVD ? SHIFT_LEFT : op == VPSRLVD ? SHIFT_RIGHT : SHIFT_RIGHT_SIGNED;
    if (i->how[k] == READ_CONSTANT)
        return shifted_by(r, value, way, fixed(i, k) & 31);
    u8 count = computed(r, VPANDD, literal(r, 31), source_operand(r, i, k));
    return computed(r, op, value, in_register(count));
}

static void shift(Rows *r, const Inst *i, const Lowering *how)
{
    give(r, i, shifted(r, i, source_operand(r, i, 1), 0, how->op));
}
/* (a << b) op c */
static void shift_then(Rows *r, const Inst *i, const Lowering *how)
{
    u8 x = shifted(r, i, source_operand(r, i, 0), 1, VPSLLVD);
    give(r, i, computed(r, how->op, x, source_operand(r, i, 2)));
}
/* (a + b) << c */
static void add_then_shift(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 sum = computed(r, VPADDD, source_register(r, i, 0), source_operand(r, i, 1));
    give(r, i, shifted(r, i, in_register(sum), 2, VPSLLVD));
}
/* (a detail b) op c */
static void two_then(Rows *r, const Inst *i, const Lowering *how)
{
    u8 x = computed(r, how->detail, source_register(r, i, 0), source_operand(r, i, 1));
    give(r, i, computed(r, how->op, x, source_operand(r, i, 2)));
}
/* Any function of three bits. */
static void ternary(Rows *r, const Inst *i, const Lowering *how)
{
    u8 to = copied(r, source_operand(r, i, 0)), b = source_register(r, i, 1);
    x86_vector_by(r->code, VPTERNLOGD, to, b, source_operand(r, i, 2), 0, (u8)how->detail);
    give(r, i, to);
}

/* ---- fields and products of 24 bits ---- */

static void field(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 x = shifted_by(r, source_register(r, i, 0), SHIFT_RIGHT, fixed(i, 1) & 31);
    u8 bits = literal(r, (1u << (fixed(i, 2) & 31)) - 1);
    give(r, i, computed(r, VPANDD, x, in_register(bits)));
}

static u8 low_24(Rows *r, const Inst *i, int k, bool sign)
{
    u8 x = source_register(r, i, k);
    return shifted_by(r, shifted_by(r, x, SHIFT_LEFT, 8), sign ? SHIFT_RIGHT_SIGNED : SHIFT_RIGHT, 8);
}
static u8 product_24(Rows *r, const Inst *i, bool sign)
{
    u8 a = low_24(r, i, 0, sign);
    return computed(r, VPMULLD, a, in_register(low_24(r, i, 1, sign)));
}
static void multiply_24(Rows *r, const Inst *i, const Lowering *how) { give(r, i, product_24(r, i, how->detail)); }
static void multiply_add_24(Rows *r, const Inst *i, const Lowering *how)
{
    u8 x = product_24(r, i, how->detail);
    give(r, i, computed(r, VPADDD, x, source_operand(r, i, 2)));
}

/* ---- floats ---- */

/* a * b + c; in the register of c if that may be overwritten. */
static u8 fused(Rows *r, Operand a, Operand b, Operand c, bool in_place)
{
    u8 factor = to_register(r, a), to = in_place && c.place == IN_REGISTER ? c.reg : copied(r, c);
    x86_vector(r->code, VFMADD231PS, to, factor, b, 0);
    return to;
}
static void fma_one(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    Operand a = source_operand(r, i, 0), b = source_operand(r, i, 1), c = source_operand(r, i, 2);
    give(r, i, fused(r, a, b, c, i->how[2] == READ_PLAIN && i->source[2] == i->dst));
}

static Operand half(Rows *r, const Inst *i, int k, bool high)
{
    return in_register(rows_read(r, row_of(high ? i->upper[k] : i->source[k])));
}
static void two_halves(Rows *r, const Inst *i, const Lowering *how)
{
    u8 low = computed(r, how->op, half(r, i, 0, false).reg, half(r, i, 1, false));
    u8 high = computed(r, how->op, half(r, i, 0, true).reg, half(r, i, 1, true));
    give_pair(r, i, low, high);
}
static void fma_halves(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    bool sum = i->source[2] == i->dst && i->upper[2] == i->dst + 1;
    bool in_place = sum && i->upper[0] != i->dst && i->upper[1] != i->dst;
    u8 low = fused(r, half(r, i, 0, false), half(r, i, 1, false), half(r, i, 2, false), in_place);
    u8 high = fused(r, half(r, i, 0, true), half(r, i, 1, true), half(r, i, 2, true), in_place);
    give_pair(r, i, low, high);
}

/* ---- compares, selection, carries ---- */

static void compare(Rows *r, const Inst *i, const Lowering *how)
{
    u8 a = source_register(r, i, 0);
    x86_vector_by(r->code, how->op, K_CARRY, a, source_operand(r, i, 1), 0, (u8)how->detail);
    give_mask(r, i, K_CARRY);
}

static u32 selector_of(const Inst *i) { return i->operands == 3 ? SGPR_VCC : i->source[2]; }
static void choose_by_mask(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 a = source_register(r, i, 0), to = rows_fresh(r);
    x86_mask_load(r->code, K_IN, AT_WAVE, mask_place(r, selector_of(i)));
    x86_vector(r->code, VPBLENDMD, to, a, source_operand(r, i, 1), K_IN);
    give(r, i, to);
}

/* x + 1 in lanes selected by K_IN, in place; K_OTHER: lanes whose result is zero. */
static void add_one(Rows *r, u8 x, u8 in)
{
    x86_vector(r->code, VPSUBD, x, x, in_register(all_ones(r)), in);
    x86_vector(r->code, VPTESTNMD, K_OTHER, x, in_register(x), in);
}

static void add_carry(Rows *r, const Inst *i, const Lowering *how)
{
    u8 a = source_register(r, i, 0), sum = computed(r, VPADDD, a, source_operand(r, i, 1));
    x86_vector_by(r->code, VPCMPUD, K_CARRY, sum, in_register(a), 0, ASK_LESS);
    if (how->flags & CARRY_IN) {
        x86_mask_load(r->code, K_IN, AT_WAVE, mask_place(r, i->source[2]));
        add_one(r, sum, K_IN);
        x86_mask_or(r->code, K_CARRY, K_CARRY, K_OTHER);
    }
    give(r, i, sum);
    give_mask(r, i, K_CARRY);
}

static void subtract_borrow(Rows *r, const Inst *i, const Lowering *how)
{
    int first = (how->flags & REVERSED) != 0;
    u8 a = source_register(r, i, first), b = source_register(r, i, !first);
    u8 left = computed(r, VPSUBD, a, in_register(b));
    x86_vector_by(r->code, VPCMPUD, K_CARRY, a, in_register(b), 0, ASK_LESS);
    if (how->flags & CARRY_IN) {
        x86_mask_load(r->code, K_IN, AT_WAVE, mask_place(r, i->source[2]));
        x86_vector(r->code, VPTESTNMD, K_OTHER, left, in_register(left), K_IN);
        x86_vector(r->code, VPADDD, left, left, in_register(all_ones(r)), K_IN);
        x86_mask_or(r->code, K_CARRY, K_CARRY, K_OTHER);
    }
    give(r, i, left);
    give_mask(r, i, K_CARRY);
}

/* ---- 64 bits ---- */

/* low, high = low, high + source k; K_CARRY: the carry, if it is wanted. */
static void add_wide(Rows *r, const Inst *i, int k, u8 *low, u8 *high, bool carry)
{
    u8 sum = computed(r, VPADDD, *low, source_operand(r, i, k)), upper = computed(r, VPADDD, *high, upper_operand(r, i, k));
    x86_vector_by(r->code, VPCMPUD, K_IN, sum, in_register(*low), 0, ASK_LESS);
    if (carry)
        x86_vector_by(r->code, VPCMPUD, K_CARRY, upper, in_register(*high), 0, ASK_LESS);
    add_one(r, upper, K_IN);
    if (carry)
        x86_mask_or(r->code, K_CARRY, K_CARRY, K_OTHER);
    *low = sum;
    *high = upper;
}

/* Shifted left by the constant n < 32. */
static void shift_wide(Rows *r, u8 *low, u8 *high, u32 n)
{
    if (!n)
        return;
    u8 upper = shifted_by(r, *high, SHIFT_LEFT, n), crossing = shifted_by(r, *low, SHIFT_RIGHT, 32 - n);
    *high = computed(r, VPORD, upper, in_register(crossing));
    *low = shifted_by(r, *low, SHIFT_LEFT, n);
}

static void shift_add_wide(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 low = source_register(r, i, 0), high = to_register(r, upper_operand(r, i, 0));
    shift_wide(r, &low, &high, fixed(i, 1));
    add_wide(r, i, 2, &low, &high, false);
    give_pair(r, i, low, high);
}
static void shift_pair(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 low = copied(r, source_operand(r, i, 1)), high = copied(r, upper_operand(r, i, 1));
    shift_wide(r, &low, &high, fixed(i, 0));
    give_pair(r, i, low, high);
}

/* The host multiplies every second lane, so this runs twice, and interleaves the results of odd and even lanes. */
static void multiply_wide(Rows *r, u8 a, u8 b, u8 *low, u8 *high)
{
    enum { ODD_LANES = 0xaaaa, LOW_TWICE = 0xa0, HIGH_TWICE = 0xf5 };
    u8 odd_a = rows_fresh(r), odd_b = rows_fresh(r);
    x86_vector_by(r->code, VPSHIFTQ_BY, SHIFT_RIGHT, odd_a, in_register(a), 0, 32);
    x86_vector_by(r->code, VPSHIFTQ_BY, SHIFT_RIGHT, odd_b, in_register(b), 0, 32);
    u8 even = computed(r, VPMULUDQ, a, in_register(b)), odd = computed(r, VPMULUDQ, odd_a, in_register(odd_b));
    x86_mask_set(r->code, K_ODD, ODD_LANES);
    *high = rows_fresh(r);
    x86_vector_by(r->code, VPSHUFD, *high, NO_OPERAND, in_register(even), 0, HIGH_TWICE);
    x86_vector(r->code, VMOVDQA32_LOAD, *high, NO_OPERAND, in_register(odd), K_ODD);
    *low = even;
    x86_vector_by(r->code, VPSHUFD, *low, NO_OPERAND, in_register(odd), K_ODD, LOW_TWICE);
}
static void multiply_add_wide(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 low, high;
    multiply_wide(r, source_register(r, i, 0), source_register(r, i, 1), &low, &high);
    add_wide(r, i, 2, &low, &high, true);
    give_pair(r, i, low, high);
    give_mask(r, i, K_CARRY);
}
static void multiply_high(Rows *r, const Inst *i, const Lowering *how)
{
    (void)how;
    u8 low, high;
    multiply_wide(r, source_register(r, i, 0), source_register(r, i, 1), &low, &high);
    give(r, i, high);
}

/* ---- the table ---- */

#define TWO(name, op) {name, two, op, SWAPS, 0}
#define COMPARES(type, op) \
    {"v_cmp_lt_" type, compare, op, MASK_OUT, ASK_LESS}, {"v_cmp_eq_" type, compare, op, MASK_OUT, ASK_EQUAL}, \
    {"v_cmp_le_" type, compare, op, MASK_OUT, ASK_LESS_OR_EQUAL}, {"v_cmp_gt_" type, compare, op, MASK_OUT, ASK_GREATER}, \
    {"v_cmp_ne_" type, compare, op, MASK_OUT, ASK_NOT_EQUAL}, {"v_cmp_ge_" type, compare, op, MASK_OUT, ASK_NOT_LESS}
/* The predicate of VCMPPS for "not a NaN". Intel SDM vol. 2, "CMPPD", table of comparison predicates. */
#define COMPARE_F32(relation, predicate) {"v_cmp_" relation "_f32", compare, VCMPPS, MASK_OUT, predicate}

static const Lowering lowerings[] = {
    {"v_mov_b32", move, 0, 0, 0}, {"v_accvgpr_read_b32", move, 0, 0, 0}, {"v_accvgpr_write_b32", move, 0, 0, 0},
    {"v_accvgpr_mov_b32", move, 0, 0, 0}, {"v_mov_b64", move_pair, 0, 0, 0}, {"v_not_b32", invert, 0, 0, 0},
    TWO("v_add_u32", VPADDD), TWO("v_and_b32", VPANDD), TWO("v_or_b32", VPORD), TWO("v_xor_b32", VPXORD),
    TWO("v_mul_lo_u32", VPMULLD), TWO("v_min_i32", VPMINSD), TWO("v_max_i32", VPMAXSD), TWO("v_min_u32", VPMINUD),
    TWO("v_max_u32", VPMAXUD), {"v_sub_u32", two, VPSUBD, 0, 0}, {"v_subrev_u32", two, VPSUBD, REVERSED, 0},
    {"v_lshlrev_b32", shift, VPSLLVD, 0, 0}, {"v_lshrrev_b32", shift, VPSRLVD, 0, 0}, {"v_ashrrev_i32", shift, VPSRAVD, 0, 0},
    {"v_lshl_add_u32", shift_then, VPADDD, 0, 0}, {"v_lshl_or_b32", shift_then, VPORD, 0, 0},
    {"v_add_lshl_u32", add_then_shift, 0, 0, 0}, {"v_add3_u32", two_then, VPADDD, 0, VPADDD},
    {"v_xad_u32", two_then, VPADDD, 0, VPXORD}, {"v_and_or_b32", ternary, 0, 0, (TRUTH_A & TRUTH_B) | TRUTH_C},
    {"v_or3_b32", ternary, 0, 0, TRUTH_A | TRUTH_B | TRUTH_C}, {"v_xor3_b32", ternary, 0, 0, TRUTH_A ^ TRUTH_B ^ TRUTH_C},
    {"v_bfi_b32", ternary, 0, 0, (TRUTH_A & TRUTH_B) | (0xff & ~TRUTH_A & TRUTH_C)},
    {"v_bfe_u32", field, 0, FIXED_1 | FIXED_2, 0}, {"v_mul_u32_u24", multiply_24, 0, 0, false},
    {"v_mul_i32_i24", multiply_24, 0, 0, true}, {"v_mad_u32_u24", multiply_add_24, 0, 0, false},
    {"v_mad_i32_i24", multiply_add_24, 0, 0, true}, {"v_mul_hi_u32", multiply_high, 0, 0, 0},
    {"v_cvt_f32_i32", one, VCVTDQ2PS, 0, 0}, {"v_cvt_f32_u32", one, VCVTUDQ2PS, 0, 0},
    {"v_add_f32", two, VADDPS, 0, 0}, {"v_mul_f32", two, VMULPS, 0, 0}, {"v_sub_f32", two, VSUBPS, 0, 0},
    {"v_subrev_f32", two, VSUBPS, REVERSED, 0}, {"v_fma_f32", fma_one, 0, 0, 0}, {"v_fmac_f32", fma_one, 0, 0, 0},
    {"v_fmaak_f32", fma_one, 0, 0, 0}, {"v_fmamk_f32", fma_one, 0, 0, 0}, {"v_pk_add_f32", two_halves, VADDPS, 0, 0},
    {"v_pk_mul_f32", two_halves, VMULPS, 0, 0}, {"v_pk_fma_f32", fma_halves, 0, 0, 0},
    COMPARES("i32", VPCMPD), COMPARES("u32", VPCMPUD),
    COMPARE_F32("eq", 0x00), COMPARE_F32("u", 0x03), COMPARE_F32("neq", 0x04), COMPARE_F32("o", 0x07),
    COMPARE_F32("nlg", 0x08), COMPARE_F32("lg", 0x0c), COMPARE_F32("lt", 0x11), COMPARE_F32("le", 0x12),
    COMPARE_F32("nlt", 0x15), COMPARE_F32("nle", 0x16), COMPARE_F32("nge", 0x19), COMPARE_F32("ngt", 0x1a),
    COMPARE_F32("ge", 0x1d), COMPARE_F32("gt", 0x1e),
    {"v_cndmask_b32", choose_by_mask, 0, 0, 0}, {"v_add_co_u32", add_carry, 0, MASK_OUT, 0},
    {"v_addc_co_u32", add_carry, 0, MASK_OUT | CARRY_IN, 0}, {"v_sub_co_u32", subtract_borrow, 0, MASK_OUT, 0},
    {"v_subrev_co_u32", subtract_borrow, 0, MASK_OUT | REVERSED, 0},
    {"v_subb_co_u32", subtract_borrow, 0, MASK_OUT | CARRY_IN, 0},
    {"v_subbrev_co_u32", subtract_borrow, 0, MASK_OUT | CARRY_IN | REVERSED, 0},
    {"v_lshl_add_u64", shift_add_wide, 0, FIXED_1, 0}, {"v_lshlrev_b64", shift_pair, 0, FIXED_0, 0},
    {"v_mad_u64_u32", multiply_add_wide, 0, MASK_OUT, 0},
};

static bool is_pair(u8 type) { return type == TYPE_U64 || type == TYPE_I64; }

static bool source_fits(const Inst *i, int k, u32 flags)
{
    bool constant = i->how[k] == READ_CONSTANT, wide = is_pair(i->row->source[k]);
    if (flags & (FIXED_0 << k))
        return constant && fixed(i, k) < 32;
    if (i->row->source[k] == TYPE_PKF32)
        return i->how[k] == READ_PLAIN;
    bool scalar = i->how[k] == READ_UNIFORM && i->source[k] + wide < SCALAR_FILE;
    return i->how[k] == READ_PLAIN || constant || scalar;
}

void lower(Rows *r, const Inst *i, const Lowering *how) { how->lower(r, i, how); }

static bool record_use(ScalarUse *uses, u32 scalar, ScalarUse use)
{
    bool same = uses[scalar] == UNUSED || uses[scalar] == use;
    uses[scalar] = use;
    return same;
}
static bool annotate_mask(ScalarUse *uses, u32 scalar)
{
    bool low = record_use(uses, scalar, MASK_LOW);
    return record_use(uses, scalar + 1, MASK_HIGH) && low;
}

bool lower_record_scalars(ScalarUse *uses, const Inst *i, const Lowering *how)
{
    bool ok = true;
    for (int k = 0; k < i->row->lane_sources; k++)
        if (i->how[k] == READ_UNIFORM)
            for (u32 n = 0; n <= is_pair(i->row->source[k]); n++)
                ok &= record_use(uses, i->source[k] + n, READ_WHOLE);
    if (how->flags & MASK_OUT)
        ok &= annotate_mask(uses, i->sdst);
    if (how->flags & CARRY_IN)
        ok &= annotate_mask(uses, i->source[2]);
    if (how->lower == choose_by_mask)
        ok &= annotate_mask(uses, selector_of(i));
    return ok;
}

static bool fits(const Inst *i, const Lowering *how)
{
    bool ok = i->row->all_active && i->run == i->row->run && !i->modified && !i->clamp;
    for (int k = 0; ok && k < i->row->lane_sources; k++)
        ok = source_fits(i, k, how->flags);
    if (how->flags & MASK_OUT)
        ok = ok && i->sdst + 1 < SCALAR_FILE;
    if (how->flags & CARRY_IN)
        ok = ok && i->source[2] + 1 < SCALAR_FILE;
    if (how->lower == choose_by_mask)
        ok = ok && selector_of(i) + 1 < SCALAR_FILE;
    ScalarUse own[SCALAR_FILE] = {UNUSED};
    return ok && lower_record_scalars(own, i, how);
}

const Lowering *lower_find(const Inst *i)
{
    if (i->row->family != FAMILY_VALU)
        return NULL;
    for (u32 k = 0; k < sizeof lowerings / sizeof *lowerings; k++)
        if (!strcmp(i->row->mnemonic, lowerings[k].mnemonic))
            return fits(i, &lowerings[k]) ? &lowerings[k] : NULL;
    return NULL;
}
