/*
 * Which bits of a result are unset, given those of its sources: one row for each kind of instruction that passes bits on,
 * chooses among them, or mixes them upwards only. For all others every bit of the result depends on all sources.
 *
 * Meanings: CDNA3 ISA and RDNA3 ISA, chapters of the vector and scalar ALU. The rules for logic and sums are those of
 * Nethercote and Seward, "How to shadow every byte of memory used by a program" (2007), 3.
 */
#include "checks/uninit/rules.h"

#include "checks/uninit/registers.h"

static u64 any(u64 bits, u64 whole) { return bits ? whole : 0; }
static u64 sources(const Seen *s) { return s[0].unset | s[1].unset | s[2].unset; }

/* Sums and products: each bit depends on the source bits up to it. */
static u64 upwards(u64 bits) { return bits | (0 - bits); }

static u32 width_of(u8 type)
{
    if (is_half_type(type))
        return 16;
    return type == TYPE_U64 || type == TYPE_I64 || type == TYPE_F64 ? 64 : 32;
}

static u64 field(u64 x, u32 first, u32 bits) { return bits < 64 ? x >> first & ((1ull << bits) - 1) : x >> first; }

static u64 sign_extended(u64 x, u32 bits) { return bits && bits < 64 ? (u64)((i64)(x << (64 - bits)) >> (64 - bits)) : x; }

static u64 of_all(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)i, (void)lane;
    return any(sources(s), ~0ull);
}

/* ---- logic ---- */

static u64 may_be(Seen x, bool one) { return (one ? x.value : ~x.value) | x.unset; }

/* A bit is unset if it can be both 0 and 1. Bits of the table: 4a + 2b + c. */
static u64 by_table(u32 table, const Seen *s)
{
    u64 may[2] = {0};
    for (u32 at = 0; at < 8; at++)
        may[table >> at & 1] |= may_be(s[0], at & 4) & may_be(s[1], at & 2) & may_be(s[2], at & 1);
    return may[0] & may[1];
}

static u64 of_logic(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)i, (void)lane;
    return by_table(r->detail, s);
}

static u64 of_bitop3(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)lane;
    return by_table(i->bitop3, s);
}

/* ---- shifts; `detail` is the source that has the amount ---- */

static bool shift(const Rule *r, const Inst *i, const Seen *s, u32 *by, u64 *bits)
{
    u32 width = width_of(i->row->result);
    *by = (u32)s[r->detail].value & (width - 1);
    *bits = s[r->detail ? 0 : 1].unset;
    return !(s[r->detail].unset & (width - 1));
}

static u64 of_left_shift(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    u32 by;
    u64 bits;
    (void)lane;
    return shift(r, i, s, &by, &bits) ? bits << by : ~0ull;
}

static u64 of_right_shift(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    u32 by;
    u64 bits;
    (void)lane;
    return shift(r, i, s, &by, &bits) ? bits >> by : ~0ull;
}

static u64 of_signed_shift(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    u32 by;
    u64 bits;
    (void)lane;
    return shift(r, i, s, &by, &bits) ? (u64)((i64)sign_extended(bits, width_of(i->row->result)) >> by) : ~0ull;
}

static u64 of_shift_or(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    u32 by = s[1].value & 31;
    Seen pair[3] = {{s[0].value << by, of_left_shift(r, i, s, lane)}, s[2], {0, 0}};
    return by_table(0xfc, pair);
}

static u64 of_shift_add(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    return upwards(of_left_shift(r, i, s, lane) | s[2].unset);
}

static u64 of_add_shift(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    Seen sum[3] = {{0, upwards(s[0].unset | s[1].unset)}, {0, 0}, s[2]};
    return of_left_shift(r, i, sum, lane);
}

/* ---- fields, bytes and halves ---- */

static u64 of_field(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)lane, (void)i;
    if (s[1].unset & 31 || s[2].unset & 31)
        return ~0ull;
    u32 bits = s[2].value & 31;
    u64 taken = field(s[0].unset & 0xffffffff, s[1].value & 31, bits);
    return r->detail ? sign_extended(taken, bits) : taken;
}

static u64 of_scalar_field(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)lane;
    u32 width = width_of(i->row->result), bits = s[1].value >> 16 & 127;
    if (s[1].unset)
        return ~0ull;
    u64 taken = field(s[0].unset, s[1].value & (width - 1), bits);
    return r->detail ? sign_extended(taken, bits < width ? bits : width) : taken;
}

static u64 of_alignment(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)i, (void)lane;
    u32 by = r->detail * (u32)s[2].value & 31;
    return s[2].unset & 31 ? ~0ull : ((s[0].unset << 32) | (s[1].unset & 0xffffffff)) >> by;
}

/* A selector's byte: 0 to 3 of the second source, 4 to 7 of the first; 8 to 11 the signs of their halves; then constants. */
static u64 of_permutation(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)i, (void)lane;
    u64 both = s[0].unset << 32 | (s[1].unset & 0xffffffff), result = 0;
    for (u32 b = 0; b < 4; b++) {
        u32 select = s[2].value >> 8 * b & 0xff;
        u64 byte = select < 8 ? both >> 8 * select & 0xff : select < 12 ? any(both >> (16 * select - 113) & 1, 0xff) : 0;
        result |= (s[2].unset >> 8 * b & 0xff ? 0xff : byte) << 8 * b;
    }
    return result;
}

static u64 of_byte(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)lane;
    return any(s[0].unset >> 8 * (i->row->mnemonic[strlen("v_cvt_f32_ubyte")] - '0') & 0xff, ~0ull);
}

static u64 of_low_part(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)i, (void)lane;
    return sign_extended(field(s[0].unset, 0, r->detail), r->detail);
}

/* Two halves side by side. `detail`: bits of the first and of the second source to leave out at their lower end. */
static u64 of_halves(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)i, (void)lane;
    return (s[0].unset >> (r->detail & 16) & 0xffff) | (s[1].unset >> (r->detail >> 8) & 0xffff) << 16;
}

/* `detail`: bits of each. */
static u64 of_two_numbers(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)i, (void)lane;
    u64 one = (1u << r->detail) - 1;
    return any(s[0].unset, one) | any(s[1].unset, one << r->detail);
}

/* v_cvt_pk_u8_f32: a number takes the place of one byte of the third source. */
static u64 of_byte_put(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)i, (void)lane;
    u64 place = 0xffull << 8 * (s[1].value & 3);
    return s[1].unset & 3 ? ~0ull : any(s[0].unset, place) | (s[2].unset & ~place);
}

static u64 of_reversal(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)lane;
    return width_of(i->row->result) == 64 ? __builtin_bitreverse64(s[0].unset) : __builtin_bitreverse32((u32)s[0].unset);
}

/* ---- numbers ---- */

static u64 of_sum(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)lane;
    return i->clamp ? any(sources(s), ~0ull) : upwards(sources(s));
}

/* Products of 24 bits. */
static u64 of_short_product(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    Seen taken[3] = {{0, s[0].unset & 0xffffff}, {0, s[1].unset & 0xffffff}, s[2]};
    return of_sum(r, i, taken, lane);
}

/* Integers that differ in a defined bit are not equal, whatever else they hold. */
static u64 of_equality(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    u64 known = ~sources(s) & (width_of(i->row->source[0]) == 64 ? ~0ull : 0xffffffff);
    if (is_half_type(i->row->source[0]))
        known &= 0xffff;
    return (s[0].value ^ s[1].value) & known ? 0 : of_all(r, i, s, lane);
}

/* Bits of a mask below the lane, counted. `detail`: the mask's first lane. */
static u64 of_count_below(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)i;
    u32 lanes = lane > r->detail ? lane - r->detail : 0;
    return any(field(s[0].unset & 0xffffffff, 0, lanes < 32 ? lanes : 32), ~0ull) | upwards(s[1].unset);
}

/* Halves of registers, and registers of pairs, one by one. */
static u64 of_packed(const Rule *r, const Inst *i, const Seen *s, u32 lane)
{
    (void)r, (void)lane;
    u32 width = i->row->source[0] == TYPE_PKF32 ? 32 : 16;
    u64 part = (1ull << width) - 1, bits = sources(s);
    return any(bits & part, part) | any(bits & part << width, part << width);
}

/* ---- the table; a longer name comes before its prefixes ---- */

enum { A = 1, B = 2, C = 4 };

static const Rule rules[] = {
    {"v_mov_b", of_logic, 0xf0, 0}, {"v_accvgpr", of_logic, 0xf0, 0},
    {"v_and_or", of_logic, 0xea, A | B}, {"v_and_b", of_logic, 0xc0, A | B}, {"v_or3", of_logic, 0xfe, 0},
    {"v_or_b", of_logic, 0xfc, 0}, {"v_xor3", of_logic, 0x96, 0}, {"v_xor_b", of_logic, 0x3c, 0},
    {"v_xnor", of_logic, 0xc3, 0}, {"v_not", of_logic, 0x0f, 0}, {"v_bfi", of_logic, 0xca, A},
    {"v_bitop3", of_bitop3, 0, 0},
    {"s_andn2", of_logic, 0x30, A | B}, {"s_and_b", of_logic, 0xc0, A | B}, {"s_nand", of_logic, 0x3f, A | B},
    {"s_orn2", of_logic, 0xf3, 0}, {"s_or_b", of_logic, 0xfc, 0}, {"s_nor", of_logic, 0x03, 0},
    {"s_xor", of_logic, 0x3c, 0}, {"s_xnor", of_logic, 0xc3, 0}, {"s_not", of_logic, 0x0f, 0},
    {"v_lshl_or", of_shift_or, 1, B}, {"v_lshl_add_u", of_shift_add, 1, B}, {"v_add_lshl", of_add_shift, 2, C},
    {"v_lshlrev_b", of_left_shift, 0, A}, {"v_lshrrev_b", of_right_shift, 0, A}, {"v_ashrrev_i", of_signed_shift, 0, A},
    {"s_lshl_b", of_left_shift, 1, B}, {"s_lshr_b", of_right_shift, 1, B}, {"s_ashr_i", of_signed_shift, 1, B},
    {"v_bfe_u", of_field, false, B | C}, {"v_bfe_i", of_field, true, B | C},
    {"s_bfe_u", of_scalar_field, false, B}, {"s_bfe_i", of_scalar_field, true, B},
    {"v_alignbit", of_alignment, 1, C}, {"v_alignbyte", of_alignment, 8, C}, {"v_perm_b32", of_permutation, 0, C},
    {"v_cvt_f32_ubyte", of_byte, 0, 0}, {"s_sext_i32_i8", of_low_part, 8, 0}, {"s_sext_i32_i16", of_low_part, 16, 0},
    {"v_pack_b32", of_halves, 0, 0}, {"s_pack_ll", of_halves, 0, 0}, {"s_pack_lh", of_halves, 16 << 8, 0},
    {"s_pack_hl", of_halves, 16, 0}, {"s_pack_hh", of_halves, 16 << 8 | 16, 0},
    {"v_cvt_pk_u8", of_byte_put, 0, B}, {"v_cvt_pk_fp8", of_two_numbers, 8, 0}, {"v_cvt_pk_bf8", of_two_numbers, 8, 0},
    {"v_cvt_pk_f32", of_all, 0, 0}, {"v_cvt_pk", of_two_numbers, 16, 0},
    {"v_bfrev", of_reversal, 0, 0}, {"s_brev", of_reversal, 0, 0},
    {"v_add_u", of_sum, 0, 0}, {"v_add_i", of_sum, 0, 0}, {"v_add_nc", of_sum, 0, 0}, {"v_add_co", of_sum, 0, 0},
    {"v_addc", of_sum, 0, 0}, {"v_add3", of_sum, 0, 0}, {"v_sub_u", of_sum, 0, 0}, {"v_sub_i", of_sum, 0, 0},
    {"v_sub_nc", of_sum, 0, 0}, {"v_sub_co", of_sum, 0, 0}, {"v_subb", of_sum, 0, 0}, {"v_subrev_u", of_sum, 0, 0},
    {"v_subrev_nc", of_sum, 0, 0}, {"v_subrev_co", of_sum, 0, 0}, {"v_xad_u", of_sum, 0, 0},
    {"v_mul_lo", of_sum, 0, 0}, {"v_mad_u64_u32", of_sum, 0, 0}, {"v_mad_i64_i32", of_sum, 0, 0},
    {"v_mad_u16", of_sum, 0, 0}, {"v_mad_legacy_u16", of_sum, 0, 0},
    {"v_mul_u32_u24", of_short_product, 0, 0}, {"v_mul_i32_i24", of_short_product, 0, 0},
    {"v_mad_u32_u24", of_short_product, 0, 0}, {"v_mad_i32_i24", of_short_product, 0, 0},
    {"s_add", of_sum, 0, 0}, {"s_sub", of_sum, 0, 0}, {"s_mul_i32", of_sum, 0, 0}, {"s_mul_u64", of_sum, 0, 0},
    {"v_cmp_eq_u", of_equality, 0, 0}, {"v_cmp_eq_i", of_equality, 0, 0}, {"v_cmp_ne_u", of_equality, 0, 0},
    {"v_cmp_ne_i", of_equality, 0, 0}, {"s_cmp_eq_u", of_equality, 0, 0}, {"s_cmp_eq_i", of_equality, 0, 0},
    {"s_cmp_lg_u", of_equality, 0, 0}, {"s_cmp_lg_i", of_equality, 0, 0},
    {"v_mbcnt_lo", of_count_below, 0, A}, {"v_mbcnt_hi", of_count_below, 32, A},
};

static const Rule *searched_rule(const Inst *i)
{
    static const Rule packed = {"", of_packed, 0, 0}, all = {"", of_all, 0, 0};
    u8 type = i->row->result;
    if (i->row->source[0] == type && (type == TYPE_PKF16 || type == TYPE_PKU16 || type == TYPE_PKF32))
        return &packed;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!strncmp(i->row->mnemonic, rules[k].with, strlen(rules[k].with)))
            return &rules[k];
    return &all;
}

/* A kernel repeats few instructions, so what was searched is kept by row. */
const Rule *uninit_rule_of(const Inst *i)
{
    enum { KEPT = 256 };
    static _Thread_local struct { const Row *row; const Rule *rule; } kept[KEPT];
    size_t at = ((uintptr_t)i->row / sizeof *i->row) % KEPT;
    if (kept[at].row != i->row) {
        kept[at].row = i->row;
        kept[at].rule = searched_rule(i);
    }
    return kept[at].rule;
}

bool uninit_depends_on_all(const Rule *r) { return r->unset == of_all; }

u32 uninit_sources_in_place(const Rule *r)
{
    return r->unset == of_logic || r->unset == of_bitop3 ? A | B | C : r->unset == of_shift_or ? C : 0;
}
