/* LDS: reads, writes, atomics, and the exchanges between lanes that go through its crossbar. */
#include "checks/observers.h"
#include "isa/control.h"
#include "machine/atomics.h"
#include "machine/fault.h"
#include "machine/lanes.h"
#include "machine/transfer.h"
#include "machine/gather.h"

#define HANDLER(name) static void name(Wave *w, const Inst *i)
#define EACH_LANE for (int l = 0; l < LANES; l++)

static const u32 *addresses(Wave *w, const Inst *i) { return vector(w, i->source[0]); }

HANDLER(ds_read)
{
    Access a;
    if (access_lds(w, i, addresses(w, i), i->offset, i->row->bytes, false, &a))
        transfer_load(w, &a, i->dst, i->row->bytes / 4);
}

/* The usual case, which needs no check of each lane: all are active, all within LDS, and there is no observer. How long it takes
 * depends on the distances between lanes, so what each access adds to all addresses does not matter. */
static inline __attribute__((always_inline)) void read_all_active(Wave *w, const Inst *i, u32 count, u32 words, Handler *otherwise)
{
    const u32 *address = (const u32 *)((const u8 *)w->v + i->read.address_place);
    const u8 *const bases[] = {w->lds + i->read.at[0], w->lds + i->read.at[1]};
    u32 observers = w->worker->observers;
    if (unlikely(!all_within(w, LANES, address, i->read.reach) || observers & ~(u32)(OBSERVE_COUNTERS | OBSERVE_TOUCHED))) {
        otherwise(w, i);
        return;
    }
    for (u32 n = 0; unlikely(observers) && n < count; n++)
        observe_lds(w, i, address, w->all_lanes, 4 * words, false);
    gather_all(LANES, bases, count, address, words, result_row(w, i));
}
HANDLER(ds_read_1_all_active) { read_all_active(w, i, 1, 1, ds_read); }
HANDLER(ds_read_2_all_active) { read_all_active(w, i, 1, 2, ds_read); }
HANDLER(ds_read_3_all_active) { read_all_active(w, i, 1, 3, ds_read); }
HANDLER(ds_read_4_all_active) { read_all_active(w, i, 1, 4, ds_read); }

HANDLER(ds_read_part)
{
    Access a;
    if (access_lds(w, i, addresses(w, i), i->offset, i->row->bytes, false, &a))
        transfer_load_small(w, &a, i->dst, i->row->bytes, i->row->detail[1]);
}
HANDLER(ds_write)
{
    Access a;
    if (access_lds(w, i, addresses(w, i), i->offset, i->row->bytes, true, &a))
        transfer_store(w, &a, i->source[1], i->row->bytes / 4);
}
HANDLER(ds_write_part)
{
    Access a;
    if (access_lds(w, i, addresses(w, i), i->offset, i->row->bytes, true, &a))
        transfer_store_small(w, &a, i->source[1], i->row->bytes, i->row->detail[1]);
}

/* Addresses that the first of two results, of `words` registers, must not overwrite. */
static const u32 *kept_addresses(Wave *w, const Inst *i, u32 words, u32 *scratch_row)
{
    bool overwritten = i->source[0] >= i->dst && i->source[0] < i->dst + words;
    return overwritten ? memcpy(scratch_row, addresses(w, i), LANES * sizeof *scratch_row) : addresses(w, i);
}

/* Two accesses of `bytes` each at offsets counted in elements, or in 64 of them (detail[1]). */
HANDLER(ds_read2)
{
    Access a, b;
    u32 bytes = i->row->bytes;
    i32 unit = (i32)bytes * i->row->detail[1];
    u32 scratch_row[LANES];
    const u32 *address = kept_addresses(w, i, bytes / 4, scratch_row);
    if (access_lds_two(w, i, address, i->offset * unit, i->offset1 * unit, bytes, false, &a, &b)) {
        transfer_load(w, &a, i->dst, bytes / 4);
        transfer_load(w, &b, (u16)(i->dst + bytes / 4), bytes / 4);
    }
}
HANDLER(ds_read2_1_all_active) { read_all_active(w, i, 2, 1, ds_read2); }
HANDLER(ds_read2_2_all_active) { read_all_active(w, i, 2, 2, ds_read2); }

HANDLER(ds_write2)
{
    Access a, b;
    u32 bytes = i->row->bytes;
    i32 unit = (i32)bytes * i->row->detail[1];
    if (access_lds_two(w, i, addresses(w, i), i->offset * unit, i->offset1 * unit, bytes, true, &a, &b)) {
        transfer_store(w, &a, i->source[1], bytes / 4);
        transfer_store(w, &b, i->source[2], bytes / 4);
    }
}

/* Operand order: compare and swap, masked or, and wrap have their second value last or first as the manual says. */
HANDLER(ds_atomic)
{
    Access a;
    AtomicOp op = i->row->detail[1];
    if (!access_lds(w, i, addresses(w, i), i->offset, i->row->bytes, true, &a))
        return;
    bool compares = op == ATOMIC_CMPSWAP || op == ATOMIC_FCMPSWAP, value_first = i->row->detail[3];
    bool other_first = (compares && !value_first) || op == ATOMIC_MSKOR;
    u16 data = other_first ? i->source[2] : i->source[1], other = 0xffff;
    if (other_first)
        other = i->source[1];
    else if (compares || op == ATOMIC_WRAP)
        other = i->source[2];
    atomics_run(w, i, &a, op, i->row->bytes, data, other, i->dst);
}

HANDLER(ds_wrxchg2)
{
    Access a, b;
    u32 bytes = i->row->bytes;
    i32 unit = (i32)bytes * i->row->detail[1];
    u32 scratch_row[LANES];
    const u32 *address = kept_addresses(w, i, bytes / 4, scratch_row);
    if (access_lds_two(w, i, address, i->offset * unit, i->offset1 * unit, bytes, true, &a, &b)) {
        atomics_run(w, i, &a, ATOMIC_SWAP, bytes, i->source[1], 0xffff, i->dst);
        atomics_run(w, i, &b, ATOMIC_SWAP, bytes, i->source[2], 0xffff, (u16)(i->dst + bytes / 4));
    }
}

/* The address is M0 + 4 * lane. */
HANDLER(ds_addtid)
{
    Access a;
    u32 address[LANES];
    EACH_LANE address[l] = (w->s[SGPR_M0] & 0xffff) + 4 * (u32)l;
    bool write = i->row->detail[1];
    if (!access_lds(w, i, address, i->offset, 4, write, &a))
        return;
    if (write)
        transfer_store(w, &a, i->source[0], 1);
    else
        transfer_load(w, &a, i->dst, 1);
}

/* The active lanes' number is added to one counter, or taken from it; all get the old value. */
HANDLER(ds_count)
{
    u32 address = (w->s[SGPR_M0] >> 16) + (u32)i->offset, old, r[LANES];
    u32 n = (u32)__builtin_popcountll(exec_mask(w));
    if (address + 4 > w->lds_bytes) {
        fault_record(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_LDS, 0, address, 4, true);
        return;
    }
    if (unlikely(w->worker->observers))
        observe_lds(w, i, &address, exec_mask(w) ? 1 : 0, 4, true);
    memcpy(&old, w->lds + address, 4);
    u32 new = i->row->detail[1] ? old + n : old - n;
    memcpy(w->lds + address, &new, 4);
    EACH_LANE r[l] = old;
    put_masked(vector(w, i->dst), r, exec_mask(w));
}

/* ---- transposing reads ---- */

static u32 take_bits(const u8 *from, u32 at, u32 bits)
{
    u64 x = 0;
    memcpy(&x, from + at / 8, (at % 8 + bits + 7) / 8);
    return (u32)(x >> at % 8) & ((1u << bits) - 1);
}

/*
 * Sixteen lanes read a matrix of 16 columns; each gets a column. Its rows are as many as a lane has elements, and
 * 16 / rows lanes side by side make one. detail[1] holds the bits of an element.
 * Source: CDNA4 ISA, "MFMA transpose load from LDS".
 */
HANDLER(ds_read_transposed)
{
    enum { COLUMNS = 16, MOST_BYTES = 16 };
    Access a;
    u32 address_bytes = i->row->bytes, bits = i->row->detail[1], rows = 8 * address_bytes / bits;
    u32 result[3][LANES] = {{0}};
    u64 exec = exec_mask(w);
    for (int first = 0; first < LANES; first += COLUMNS) {
        u64 all_active = exec >> first & 0xffff;
        if (all_active && all_active != 0xffff) { /* what an inactive lane sends is not documented */
            fault_not_emulated(w, i);
            return;
        }
    }
    if (!access_lds(w, i, addresses(w, i), i->offset, address_bytes, false, &a))
        return;
    if (a.outside) { /* whose zeros lanes would get is not documented */
        fault_not_emulated(w, i);
        return;
    }
    EACH_LANE {
        if (!(exec >> l & 1))
            continue;
        u64 lane_bits[2] = {0};
        u32 column = (u32)l % COLUMNS, first = (u32)l - column, lanes_a_row = COLUMNS / rows;
        for (u32 row = 0; row < rows; row++) {
            u8 bytes[MOST_BYTES] = {0};
            memcpy(bytes, lane_at(&a, (int)(first + row * lanes_a_row + column / rows)), address_bytes);
            u64 x = take_bits(bytes, column % rows * bits, bits);
            u32 at = row * bits;
            lane_bits[at / 64] |= x << at % 64;
            if (at % 64 + bits > 64)
                lane_bits[1] |= x >> (64 - at % 64);
        }
        result[0][l] = (u32)lane_bits[0];
        result[1][l] = (u32)(lane_bits[0] >> 32);
        result[2][l] = (u32)lane_bits[1];
    }
    for (u32 n = 0; n < address_bytes / 4; n++)
        put_masked(vector(w, i->dst + n), result[n], exec);
}

/* ---- lane exchanges; an inactive lane sends zero ---- */

/* The lane that an address names. RDNA3 serves the halves of a wave of 64 one by one.
 * Source: LLVM, GCNSubtarget::supportsWaveWideBPermute. */
static u32 addressed_lane(const Wave *w, const Inst *i, u32 address, u32 lane)
{
    u32 n = (address + (u32)i->offset) / 4;
    return w->program->generation == GFX11 ? (lane & 32) + n % 32 : n % wave_lanes(w);
}

/* detail[1]: inactive lanes send what they have. */
HANDLER(ds_bpermute_b32)
{
    const u32 *address = vector(w, i->source[0]), *data = vector(w, i->source[1]);
    u32 r[LANES];
    EACH_LANE {
        u32 from = addressed_lane(w, i, address[l], (u32)l);
        r[l] = lane_active(w, from) || i->row->detail[1] ? data[from] : 0;
    }
    put_masked(vector(w, i->dst), r, exec_mask(w));
}
/* Where two lanes send to one, the higher lane wins. */
HANDLER(ds_permute_b32)
{
    const u32 *address = vector(w, i->source[0]), *data = vector(w, i->source[1]);
    u32 r[LANES] = {0};
    EACH_LANE if (lane_active(w, (u32)l)) r[addressed_lane(w, i, address[l], (u32)l)] = data[l];
    put_masked(vector(w, i->dst), r, exec_mask(w));
}

/* Which lane of its 32 a lane reads.  CDNA3 ISA, DS_SWIZZLE_B32: quads, bit masks; rotation and the order of a Fourier
 * transform are modes of their own. */
static u32 swizzled(u32 pattern, u32 lane)
{
    u32 in = lane & 31;
    if (pattern >= 0xe000) {
        u32 mask = pattern & 31;
        return __builtin_bitreverse32(in) >> 27 >> __builtin_popcount(mask) | (in & mask);
    }
    if ((pattern & 0xff00) == 0x8000)
        return (in & ~3u) | (pattern >> 2 * (in & 3) & 3);
    if (pattern & 0x8000) {
        u32 mask = pattern & 31, n = pattern >> 5 & 31;
        u32 turned = pattern >> 10 & 1 ? in - n : in + n;
        return (in & mask) | (turned & ~mask & 31);
    }
    return ((in & pattern & 31) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
}
HANDLER(ds_swizzle_b32)
{
    const u32 *data = vector(w, i->source[0]);
    u32 r[LANES], pattern = i->raw & 0xffff;
    if ((pattern & 0x8000) && (pattern & 0xff00) != 0x8000 && pattern < 0xc000) {
        fault_not_emulated(w, i);
        return;
    }
    EACH_LANE {
        u32 from = ((u32)l & 32) + swizzled(pattern, (u32)l);
        r[l] = lane_active(w, from) ? data[from] : 0;
    }
    put_masked(vector(w, i->dst), r, exec_mask(w));
}

#define ROW(name, body, in, size, how, mods, kind) \
    {.mnemonic = name, .run = body, .layout = in, .family = FAMILY_LDS, .source = {TYPE_U32, TYPE_U64, TYPE_U64}, \
     .modifiers = mods, .bytes = size, .detail = {0, how, kind}}
#define READ_ROW(name, body, words, how, mods) \
    {.mnemonic = name, .run = body, .all_active = body##_##words##_all_active, .layout = "d0", .family = FAMILY_LDS, \
     .source = {TYPE_U32, TYPE_U64, TYPE_U64}, .modifiers = mods, .bytes = 4 * words, .detail = {0, how, ACCESS_LOAD}}
#define READ(name, words) READ_ROW(name, ds_read, words, 0, MOD_OFFSET)
#define READ_PART(name, size, how) ROW(name, ds_read_part, "d0", size, how, MOD_OFFSET, ACCESS_LOAD)
#define WRITE(name, size) ROW(name, ds_write, "01", size, 0, MOD_OFFSET, ACCESS_STORE)
#define WRITE_PART(name, size, high) ROW(name, ds_write_part, "01", size, high, MOD_OFFSET, ACCESS_STORE)
#define READ2(name, words, unit) READ_ROW(name, ds_read2, words, unit, MOD_OFFSET01)
#define WRITE2(name, size, unit) ROW(name, ds_write2, "012", size, unit, MOD_OFFSET01, ACCESS_STORE)
#define XCHG2(name, size, unit) ROW(name, ds_wrxchg2, "d012", size, unit, MOD_OFFSET01, ACCESS_ATOMIC)
#define ATOMIC1(name, type, op, size) \
    ROW("ds_" name "_" type, ds_atomic, "01", size, op, MOD_OFFSET, ACCESS_ATOMIC), \
    ROW("ds_" name "_rtn_" type, ds_atomic, "d01", size, op, MOD_OFFSET, ACCESS_ATOMIC)
#define ATOMIC2(name, type, op, size) \
    ROW("ds_" name "_" type, ds_atomic, "012", size, op, MOD_OFFSET, ACCESS_ATOMIC), \
    ROW("ds_" name "_rtn_" type, ds_atomic, "d012", size, op, MOD_OFFSET, ACCESS_ATOMIC)
/* RDNA has the new value first, then the one to compare with. */
#define CMPSTORE(type, op, size) \
    {.mnemonic = "ds_cmpstore_" type, .run = ds_atomic, .layout = "012", .family = FAMILY_LDS, \
     .source = {TYPE_U32, TYPE_U64, TYPE_U64}, .modifiers = MOD_OFFSET, .bytes = size, \
     .detail = {0, op, ACCESS_ATOMIC, 1}}, \
    {.mnemonic = "ds_cmpstore_rtn_" type, .run = ds_atomic, .layout = "d012", .family = FAMILY_LDS, \
     .source = {TYPE_U32, TYPE_U64, TYPE_U64}, .modifiers = MOD_OFFSET, .bytes = size, \
     .detail = {0, op, ACCESS_ATOMIC, 1}}
#define INTEGER(name, u, op) ATOMIC1(name, u "32", op, 4), ATOMIC1(name, u "64", op, 8)
#define LANE_EXCHANGE(name, in) ROW(#name, name, in, 4, 0, MOD_OFFSET, ACCESS_LOAD)

static const Row rows[] = {
    READ("ds_read_b32", 1), READ("ds_read_b64", 2), READ("ds_read_b96", 3), READ("ds_read_b128", 4),
    READ_PART("ds_read_u8", 1, EXTEND_ZERO), READ_PART("ds_read_i8", 1, EXTEND_SIGN),
    READ_PART("ds_read_u16", 2, EXTEND_ZERO), READ_PART("ds_read_i16", 2, EXTEND_SIGN),
    READ_PART("ds_read_u8_d16", 1, EXTEND_LOW), READ_PART("ds_read_u8_d16_hi", 1, EXTEND_HIGH),
    READ_PART("ds_read_i8_d16", 1, EXTEND_SIGN_LOW), READ_PART("ds_read_i8_d16_hi", 1, EXTEND_SIGN_HIGH),
    READ_PART("ds_read_u16_d16", 2, EXTEND_LOW), READ_PART("ds_read_u16_d16_hi", 2, EXTEND_HIGH),
    WRITE("ds_write_b32", 4), WRITE("ds_write_b64", 8), WRITE("ds_write_b96", 12), WRITE("ds_write_b128", 16),
    WRITE_PART("ds_write_b8", 1, 0), WRITE_PART("ds_write_b16", 2, 0), WRITE_PART("ds_write_b8_d16_hi", 1, 1),
    WRITE_PART("ds_write_b16_d16_hi", 2, 1),
    READ2("ds_read2_b32", 1, 1), READ2("ds_read2_b64", 2, 1), READ2("ds_read2st64_b32", 1, 64),
    READ2("ds_read2st64_b64", 2, 64), WRITE2("ds_write2_b32", 4, 1), WRITE2("ds_write2_b64", 8, 1),
    WRITE2("ds_write2st64_b32", 4, 64), WRITE2("ds_write2st64_b64", 8, 64),
    INTEGER("add", "u", ATOMIC_ADD), INTEGER("sub", "u", ATOMIC_SUB), INTEGER("rsub", "u", ATOMIC_RSUB),
    INTEGER("inc", "u", ATOMIC_INC), INTEGER("dec", "u", ATOMIC_DEC), INTEGER("min", "i", ATOMIC_SMIN),
    INTEGER("max", "i", ATOMIC_SMAX), INTEGER("min", "u", ATOMIC_UMIN), INTEGER("max", "u", ATOMIC_UMAX),
    INTEGER("and", "b", ATOMIC_AND), INTEGER("or", "b", ATOMIC_OR), INTEGER("xor", "b", ATOMIC_XOR),
    INTEGER("add", "f", ATOMIC_FADD), INTEGER("min", "f", ATOMIC_FMIN), INTEGER("max", "f", ATOMIC_FMAX),
    ROW("ds_wrxchg_rtn_b32", ds_atomic, "d01", 4, ATOMIC_SWAP, MOD_OFFSET, ACCESS_ATOMIC),
    ROW("ds_wrxchg_rtn_b64", ds_atomic, "d01", 8, ATOMIC_SWAP, MOD_OFFSET, ACCESS_ATOMIC),
    ATOMIC2("cmpst", "b32", ATOMIC_CMPSWAP, 4), ATOMIC2("cmpst", "b64", ATOMIC_CMPSWAP, 8),
    ATOMIC2("cmpst", "f32", ATOMIC_FCMPSWAP, 4), ATOMIC2("cmpst", "f64", ATOMIC_FCMPSWAP, 8),
    CMPSTORE("b32", ATOMIC_CMPSWAP, 4), CMPSTORE("b64", ATOMIC_CMPSWAP, 8), CMPSTORE("f32", ATOMIC_FCMPSWAP, 4),
    CMPSTORE("f64", ATOMIC_FCMPSWAP, 8), ATOMIC1("cond_sub", "u32", ATOMIC_COND_SUB, 4),
    ATOMIC1("sub_clamp", "u32", ATOMIC_SUB_CLAMP, 4), INTEGER("min_num", "f", ATOMIC_FMIN_NUM),
    INTEGER("max_num", "f", ATOMIC_FMAX_NUM), ATOMIC1("condxchg32", "b64", ATOMIC_CONDXCHG, 8),
    ATOMIC2("mskor", "b32", ATOMIC_MSKOR, 4), ATOMIC2("mskor", "b64", ATOMIC_MSKOR, 8),
    ATOMIC1("pk_add", "f16", ATOMIC_PK_FADD, 4), ATOMIC1("pk_add", "bf16", ATOMIC_PK_BFADD, 4),
    ROW("ds_wrap_rtn_b32", ds_atomic, "d012", 4, ATOMIC_WRAP, MOD_OFFSET, ACCESS_ATOMIC),
    XCHG2("ds_wrxchg2_rtn_b32", 4, 1), XCHG2("ds_wrxchg2_rtn_b64", 8, 1), XCHG2("ds_wrxchg2st64_rtn_b32", 4, 64),
    XCHG2("ds_wrxchg2st64_rtn_b64", 8, 64),
    ROW("ds_read_addtid_b32", ds_addtid, "d", 4, 0, MOD_OFFSET, ACCESS_LOAD),
    ROW("ds_write_addtid_b32", ds_addtid, "0", 4, 1, MOD_OFFSET, ACCESS_STORE),
    ROW("ds_consume", ds_count, "d", 4, 0, MOD_OFFSET, ACCESS_ATOMIC),
    ROW("ds_append", ds_count, "d", 4, 1, MOD_OFFSET, ACCESS_ATOMIC),
    LANE_EXCHANGE(ds_bpermute_b32, "d01"),
    ROW("ds_bpermute_fi_b32", ds_bpermute_b32, "d01", 4, 1, MOD_OFFSET, ACCESS_LOAD),
    LANE_EXCHANGE(ds_permute_b32, "d01"), LANE_EXCHANGE(ds_swizzle_b32, "d0"),
    ROW("ds_read_b64_tr_b4", ds_read_transposed, "d0", 8, 4, MOD_OFFSET, ACCESS_LOAD),
    ROW("ds_read_b64_tr_b8", ds_read_transposed, "d0", 8, 8, MOD_OFFSET, ACCESS_LOAD),
    ROW("ds_read_b64_tr_b16", ds_read_transposed, "d0", 8, 16, MOD_OFFSET, ACCESS_LOAD),
    ROW("ds_read_b96_tr_b6", ds_read_transposed, "d0", 12, 6, MOD_OFFSET, ACCESS_LOAD),
    ROW("ds_nop", control_no_effect, "*", 0, 0, 0, ACCESS_LOAD),
};

const RowTable isa_lds = {rows, sizeof rows / sizeof *rows};
