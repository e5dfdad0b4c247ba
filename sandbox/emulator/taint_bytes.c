/*
 * Which bytes of its sources a byte of a result depends on: shifts, masks and selections take bytes of a dword that say
 * nothing of the others. What is not known here depends on all of them, or, where it takes parts of a dword in a way that
 * only its operands tell, on what is unset as a whole.
 */
#include "taint.h"

static bool named(const Inst *i, const char *with) { return !strncmp(i->row->mnemonic, with, strlen(with)); }

static bool any_named(const Inst *i, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (named(i, names[k]))
            return true;
    return false;
}
#define NAMED(i, ...) any_named(i, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A value of `width` bytes that the result's byte `at` is taken from; amounts are of bits. */
typedef struct { u32 width, at; } Part;

static u32 all_of(Part p) { return (1u << p.width) - 1; }
static u32 up_to(Part p) { return (2u << p.at) - 1; }

/* The bytes that hold bits low..high. */
static u32 bytes_of_bits(Part p, i32 low, i32 high)
{
    u32 bytes = 0;
    for (i32 b = 0; b < (i32)p.width; b++)
        bytes |= (u32)(8 * b <= high && 8 * b + 7 >= low) << b;
    return low > high ? 0 : bytes;
}

/* Unoptimised code has constants in vector registers. */
static bool same_in_all_lanes(const Wave *w, u16 reg, u32 *value)
{
    u64 exec = exec_mask(w);
    const u32 *lanes = w->v[reg - FIRST_VGPR];
    *value = exec ? lanes[__builtin_ctzll(exec)] : 0;
    for (u32 l = 0; l < LANES; l++)
        if (exec >> l & 1 && lanes[l] != *value)
            return false;
    return true;
}

static bool uniform(const Wave *w, const Inst *i, u32 k, u32 *value)
{
    u16 reg = i->source[k];
    if (i->row->source[k] == TYPE_NONE)
        return false;
    if (reg >= FIRST_VGPR)
        return reg < FIRST_VGPR + VECTOR_REGISTERS && !i->sdwa && !i->dpp && !is_half_type(i->row->source[k]) &&
               same_in_all_lanes(w, reg, value);
    *value = scalar32(w, i, (int)k);
    return true;
}

static u32 shifted_right(Part p, u32 by, bool sign)
{
    i32 low = (i32)(8 * p.at + by), top = 1 << (p.width - 1);
    u32 bytes = bytes_of_bits(p, low, low + 7);
    return bytes | (sign && low + 7 >= (i32)(8 * p.width) ? (u32)top : 0);
}

static u32 shifted_left(Part p, u32 by)
{
    i32 low = (i32)(8 * p.at) - (i32)by;
    return bytes_of_bits(p, low < 0 ? 0 : low, low + 7);
}

/* v_lshrrev and its kin have the amount first, s_lshr and v_lshl_or second. */
static u32 of_shift(const Wave *w, const Inst *i, u32 k, Part p)
{
    bool reversed = strstr(i->row->mnemonic, "rev");
    u32 amount = reversed ? 0 : 1, by;
    if (k == amount)
        return 1;
    if (k == 2)
        return 1u << p.at;
    if (!uniform(w, i, amount, &by))
        return WHOLE_ALONE;
    by &= 8 * p.width - 1;
    return NAMED(i, "v_lshl", "s_lshl") ? shifted_left(p, by) : shifted_right(p, by, NAMED(i, "v_ashr", "s_ashr"));
}

static u32 of_field(const Wave *w, const Inst *i, u32 k, Part p)
{
    bool scalar = named(i, "s_bfe"), sign = strstr(i->row->mnemonic, "_i32");
    u32 first, bits;
    if (k)
        return 1;
    if (!uniform(w, i, 1, &first) || (!scalar && !uniform(w, i, 2, &bits)))
        return WHOLE_ALONE;
    bits = scalar ? first >> 16 & 127 : bits & 31;
    first &= 31;
    i32 low = (i32)(first + 8 * p.at), end = (i32)(first + bits) - 1;
    u32 bytes = bytes_of_bits(p, low, low + 7 < end ? low + 7 : end);
    return bytes | (sign && bits && low + 7 > end ? bytes_of_bits(p, end, end) : 0);
}

static u32 of_alignment(const Wave *w, const Inst *i, u32 k, Part p)
{
    u32 by;
    if (k == 2)
        return 1;
    if (!uniform(w, i, 2, &by))
        return WHOLE_ALONE;
    by = named(i, "v_alignbyte") ? 8 * (by & 3) : by & 31;
    i32 low = (i32)(8 * p.at + by) - (k == 0 ? 32 : 0);
    return bytes_of_bits(p, low < 0 ? 0 : low, low + 7);
}

/* A selector's byte: 0 to 3 of the second source, 4 to 7 of the first; 8 to 11 signs; then constants. */
static u32 of_permutation(const Wave *w, const Inst *i, u32 k, Part p)
{
    u32 selector;
    if (k == 2)
        return 1u << p.at;
    if (!uniform(w, i, 2, &selector))
        return WHOLE_ALONE;
    u32 chosen = selector >> 8 * p.at & 0xff;
    if (chosen >= 8)
        return chosen < 12 && chosen / 10 == 1 - k ? (chosen & 1 ? 8 : 2) : 0;
    return chosen / 4 == 1 - k ? 1u << chosen % 4 : 0;
}

/* Byte by byte; one that a constant decides depends on nothing. */
static u32 of_logic(const Wave *w, const Inst *i, u32 k, Part p)
{
    u32 other, deciding = NAMED(i, "v_and", "s_and") ? 0 : 0xff;
    bool decides = NAMED(i, "v_and_b", "v_or_b", "s_and_b", "s_or_b") || (named(i, "v_and_or") && k < 2);
    if (decides && k < 2 && uniform(w, i, 1 - k, &other) && (other >> 8 * p.at & 0xff) == deciding)
        return 0;
    return 1u << p.at;
}

/* v_bitop3: a truth table, of which uniform sources leave a part. Source 0 is the highest bit of its index. */
static u32 of_table(const Wave *w, const Inst *i, u32 k, Part p)
{
    u32 differs = 0, own = 4u >> k;
    for (u32 at = 0; at < 8; at++) {
        u32 possible = 0xff; /* bits of the byte where the other sources may be so */
        for (u32 s = 0, value; s < 3; s++)
            if (s != k && uniform(w, i, s, &value))
                possible &= at & 4u >> s ? value >> 8 * p.at : ~(value >> 8 * p.at);
        if (!(at & own) && (i->bitop3 >> at & 1) != (i->bitop3 >> (at | own) & 1))
            differs |= possible;
    }
    return differs ? 1u << p.at : 0;
}

static u32 of_integers(const Wave *w, const Inst *i, u32 k, Part p)
{
    if (NAMED(i, "v_and_b", "v_or_b", "v_xor_b", "v_not_b", "v_and_or", "v_or3", "v_xor3", "v_xnor", "v_bfi", "v_mov_b",
              "v_cndmask_b", "s_and_b", "s_or_b"))
        return of_logic(w, i, k, p);
    if (NAMED(i, "v_lshl_or", "v_lshlrev_b", "v_lshrrev_b", "v_ashrrev_i", "s_lshr_b32", "s_lshl_b32", "s_ashr_i32"))
        return of_shift(w, i, k, p);
    if (NAMED(i, "v_bfe", "s_bfe_u32", "s_bfe_i32"))
        return of_field(w, i, k, p);
    if (named(i, "v_alignb"))
        return of_alignment(w, i, k, p);
    if (named(i, "v_bitop3"))
        return of_table(w, i, k, p);
    if (named(i, "v_perm_b32"))
        return of_permutation(w, i, k, p);
    if (named(i, "v_cvt_f32_ubyte"))
        return 1u << (i->row->mnemonic[strlen("v_cvt_f32_ubyte")] - '0');
    bool upwards = NAMED(i, "v_add_u", "v_add_i", "v_add_nc_", "v_add_co_", "v_add3_u", "v_sub_u", "v_sub_i", "v_sub_nc_",
                         "v_subrev_u", "v_subrev_nc_", "v_mul_lo_", "v_mul_u32_u24", "v_mad_u16", "v_mad_u32_u24",
                         "v_mad_legacy_u16");
    return upwards && !i->clamp ? up_to(p) : all_of(p);
}

bool takes_parts(const Inst *i)
{
    return NAMED(i, "v_mov_b16", "v_cndmask_b16", "v_and", "v_or_b", "v_or3", "v_lshrrev", "v_lshlrev", "v_ashrrev", "v_lshl_or",
                 "v_bfe", "v_bfi", "v_perm_b32", "v_alignb", "v_cvt_f32_ubyte", "s_lshr", "s_bfe");
}

u32 sdwa_bytes(const Inst *i)
{
    switch (i->dst_select) {
    case SELECT_DWORD: return ALL_BYTES;
    case SELECT_WORD_0: return LOWER;
    case SELECT_WORD_1: return UPPER;
    default: return 1u << i->dst_select;
    }
}

/* What SDWA selects of a source, with zeros or its sign above. */
static u32 selected(const Inst *i, u32 k, u32 bytes)
{
    bool sign = i->sext >> k & 1;
    switch (i->select[k]) {
    case SELECT_DWORD: return bytes;
    case SELECT_WORD_0: return (bytes & 3) | (sign && bytes & UPPER ? 2 : 0);
    case SELECT_WORD_1: return (bytes & 3) << 2 | (sign && bytes & UPPER ? 8 : 0);
    default: return bytes & 1 || sign ? 1u << i->select[k] : 0;
    }
}

static u32 of_sdwa(const Wave *w, const Inst *i, u32 k, u32 result)
{
    bool half = is_half_type(i->row->source[k]);
    u32 place = sdwa_bytes(i), first = (u32)__builtin_ctz(place), top = 31 - (u32)__builtin_clz(place);
    if (!(place >> result & 1) && (i->dst_unused != UNUSED_SEXT || result < first))
        return 0;
    result = (result < top ? result : top) - first;
    u32 bytes = of_integers(w, i, k, half ? (Part){2, result & 1} : (Part){4, result});
    return bytes & WHOLE_ALONE ? WHOLE_ALONE : k < 2 ? selected(i, k, bytes) : bytes;
}

u32 bytes_read(const Wave *w, const Inst *i, u32 k, u32 result)
{
    u8 type = i->row->source[k];
    u32 half = i->half >> k & 1 ? UPPER : LOWER, upper = result > 1;
    if (named(i, "v_pack_b32"))
        return (upper != 0) == (k == 1) ? half & (5u << (result & 1)) : 0;
    if (type == TYPE_PKF16 || type == TYPE_PKU16)
        return (upper ? i->op_sel_hi : i->op_sel) >> k & 1 ? UPPER : LOWER;
    if (i->sdwa)
        return of_sdwa(w, i, k, result);
    if (!is_half_type(type))
        return of_integers(w, i, k, (Part){4, is_half_type(i->row->result) ? result & 1 : result});
    u32 bytes = of_integers(w, i, k, (Part){2, result & 1});
    return bytes & WHOLE_ALONE ? half : half == UPPER ? bytes << 2 : bytes;
}
