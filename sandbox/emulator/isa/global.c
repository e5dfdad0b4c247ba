/* Vector memory: global, flat, scratch and buffer loads, stores and atomics. Cache control is without effect. */
#include "isa/control.h"
#include "machine/atomics.h"
#include "machine/fault.h"
#include "machine/lanes.h"
#include "machine/transfer.h"

enum { MOST_WORDS_MOVED = 4 };

/* Dword by dword. All are loaded before any is written, as the first may take the place of the address. */
static void load_split(Wave *w, const Inst *i)
{
    u32 words = i->row->bytes / 4, out[MOST_WORDS_MOVED][LANES], before[LANES];
    Inst one = *i;
    for (u32 k = 0; k < words; k++) {
        Access a;
        one.offset = i->offset + 4 * (i32)k;
        one.dst = (u16)(i->dst + k);
        if (!access_resolve(w, &one, 4, false, &a))
            return;
        memcpy(before, vector(w, one.dst), sizeof before);
        transfer_load(w, &a, one.dst, 1);
        memcpy(out[k], vector(w, one.dst), sizeof before);
        memcpy(vector(w, one.dst), before, sizeof before);
    }
    for (u32 k = 0; k < words; k++)
        memcpy(vector(w, i->dst + k), out[k], sizeof out[k]);
}
static void load(Wave *w, const Inst *i)
{
    Access a;
    if (!access_resolve(w, i, i->row->bytes, false, &a))
        return;
    if (a.split)
        load_split(w, i);
    else
        transfer_load(w, &a, i->dst, i->row->bytes / 4);
}
static void load_part(Wave *w, const Inst *i)
{
    Access a;
    if (access_resolve(w, i, i->row->bytes, false, &a))
        transfer_load_small(w, &a, i->dst, i->row->bytes, i->row->detail[1]);
}
static void store_split(Wave *w, const Inst *i)
{
    Inst one = *i;
    for (u32 k = 0; k < i->row->bytes / 4; k++) {
        Access a;
        one.offset = i->offset + 4 * (i32)k;
        one.source[2] = (u16)(i->source[2] + k);
        if (!access_resolve(w, &one, 4, true, &a))
            return;
        transfer_store(w, &a, one.source[2], 1);
    }
}
static void store(Wave *w, const Inst *i)
{
    Access a;
    if (!access_resolve(w, i, i->row->bytes, true, &a))
        return;
    if (a.split)
        store_split(w, i);
    else
        transfer_store(w, &a, i->source[2], i->row->bytes / 4);
}
static void store_part(Wave *w, const Inst *i)
{
    Access a;
    if (access_resolve(w, i, i->row->bytes, true, &a))
        transfer_store_small(w, &a, i->source[2], i->row->bytes, i->row->detail[1]);
}

/* Compare and swap has the new value first, then the one to compare with. */
static void atomic(Wave *w, const Inst *i)
{
    Access a;
    u32 bytes = i->row->bytes;
    AtomicOp op = i->row->detail[1];
    if (!access_resolve(w, i, bytes, true, &a))
        return;
    u16 compare = op == ATOMIC_CMPSWAP || op == ATOMIC_FCMPSWAP ? (u16)(i->source[2] + bytes / 4) : 0xffff;
    u16 dst = i->row->detail[0] == SEGMENT_BUFFER ? (i->sc0 ? i->source[2] : 0xffff) : i->dst;
    atomics_run(w, i, &a, op, bytes, i->source[2], compare, dst);
}

/* M0 as an offset in LDS. Global and scratch loads take whole dwords of it, gfx950 has 160 KiB. */
static u32 lds_base(const Wave *w, const Inst *i)
{
    u32 base = w->s[SGPR_M0] & (w->program->ocp_float8 ? 0x3ffff : 0xffff);
    return i->row->family == FAMILY_BUFFER ? base : base & ~3u;
}

/* Into LDS, past the registers: lane after lane from M0 + offset on, a dword or four apart.
 * Source: CDNA4 ISA, 9.1.9 "Memory Buffer Load to LDS", 10.3 "Addressing". */
static void move_to_lds(Wave *w, const Inst *i, u32 bytes)
{
    Access from, to;
    u32 address[LANES], words = bytes < 4 ? 1 : bytes / 4, base = lds_base(w, i);
    for (u32 l = 0; l < LANES; l++)
        address[l] = base + (i->row->bytes > 4 ? 16 : 4) * l;
    if (!access_resolve(w, i, bytes, false, &from))
        return;
    if (from.split) {
        Inst one = *i;
        for (u32 k = 0; k < words && w->stop != STOP_FAULT; k++) {
            one.offset = i->offset + 4 * (i32)k;
            move_to_lds(w, &one, 4);
        }
        return;
    }
    if (!access_lds(w, i, address, i->offset, 4 * words, true, &to))
        return;
    for (int l = 0; l < LANES; l++) {
        u32 x[MOST_WORDS_MOVED] = {0};
        if (!((from.active | from.outside) & to.active & 1ull << l))
            continue;
        if (from.active >> l & 1)
            memcpy(x, lane_at(&from, l), bytes);
        if (i->row->detail[1] == EXTEND_SIGN)
            x[0] = bytes == 1 ? (u32)(i32)(int8_t)x[0] : (u32)(i32)(int16_t)x[0];
        memcpy(lane_at(&to, l), x, 4 * words);
    }
}
static void load_to_lds(Wave *w, const Inst *i) { move_to_lds(w, i, i->row->bytes); }

/* With the `lds` flag a load has no destination operand: any buffer load, and on gfx90a global and scratch loads. */
static void load_anywhere(Wave *w, const Inst *i)
{
    if (i->lds)
        load_to_lds(w, i);
    else if (i->row->bytes < 4)
        load_part(w, i);
    else
        load(w, i);
}

/* ---- RDNA4: a matrix of 16 times 16, whose rows become columns on their way.  RDNA4 ISA, "WMMA Load-Transpose" ---- */

/* Lane and element that lane `l` of a wave of 32 gets as its element `n`: of halves, eight lanes change places among
 * themselves; of bytes, sixteen lanes do, of which four hold the left and four the right half of four rows. The order of
 * lanes is that of kernels which run on RDNA4. */
static u32 transposed_lane(u32 l, u32 n, bool halves)
{
    return halves ? (l & ~7u) + n : (l & ~15u) + 8 * (n / 4) + (l & 8) / 2 + n % 4;
}

/* All lanes must be active. A wave of 64 uses the addresses of the first 32 lanes, and spreads their data over all lanes. */
static void load_transposed(Wave *w, const Inst *i)
{
    u32 bytes = i->row->bytes, width = bytes / 8, words = bytes / 4 / (w->wave32 ? 1 : 2), out[4][LANES] = {{0}};
    u8 from[32][16];
    Access a;
    if (!exec_mask(w))
        return;
    if (exec_mask(w) != w->all_lanes) {
        fault_not_emulated(w, i);
        return;
    }
    w->s[SGPR_EXEC + 1] = 0;
    bool reached = access_resolve(w, i, bytes, false, &a);
    put_scalar_pair(w, SGPR_EXEC, w->all_lanes);
    if (!reached)
        return;
    for (int l = 0; l < 32; l++)
        memcpy(from[l], lane_at(&a, l), bytes);
    for (u32 l = 0; l < 32; l++)
        for (u32 n = 0; n < 8; n++) {
            u32 x = 0, at = n * width, word = at / 4;
            memcpy(&x, &from[transposed_lane(l, n, width == 2)][width * (l & 7)], width);
            out[word % words][l + 32 * (word / words)] |= x << 8 * (at % 4);
        }
    for (u32 word = 0; word < words; word++)
        put_masked(vector(w, (u32)i->dst + word), out[word], w->all_lanes);
}

/* ---- RDNA4: up to 32 dwords, those whose bit in M0 is set ---- */

static void move_block(Wave *w, const Inst *i, u16 first, bool store)
{
    Inst one = *i;
    for (u32 k = 0; k < 32 && w->stop != STOP_FAULT; k++) {
        Access a;
        one.offset = i->offset + 4 * (i32)k;
        if (!(w->s[SGPR_M0] >> k & 1) || !access_resolve(w, &one, 4, store, &a))
            continue;
        if (store)
            transfer_store(w, &a, (u16)(first + k), 1);
        else
            transfer_load(w, &a, (u16)(first + k), 1);
    }
}
static void load_block(Wave *w, const Inst *i) { move_block(w, i, i->dst, false); }
static void store_block(Wave *w, const Inst *i) { move_block(w, i, i->source[2], true); }

#define ROW(name, body, in, of, size, segment, how, kind) \
    {.mnemonic = name, .run = body, .layout = in, .family = of, .source = {TYPE_U64, TYPE_U64, TYPE_U32, TYPE_U32}, \
     .modifiers = MOD_OFFSET | MOD_CACHE | (of == FAMILY_BUFFER ? MOD_BUFFER : 0) | \
                  (of != FAMILY_FLAT && (kind) == ACCESS_LOAD ? MOD_LDS : 0), .bytes = size, \
     .detail = {segment, how, kind}},
#define EACH_SEGMENT(suffix, body, size, how, kind, global, flat, buffer) \
    ROW("global_" #suffix, body, global, FAMILY_GLOBAL, size, SEGMENT_GLOBAL, how, kind) \
    ROW("flat_" #suffix, body, flat, FAMILY_FLAT, size, SEGMENT_FLAT, how, kind) \
    ROW("scratch_" #suffix, body, global, FAMILY_SCRATCH, size, SEGMENT_SCRATCH, how, kind) \
    ROW("buffer_" #suffix, body, buffer, FAMILY_BUFFER, size, SEGMENT_BUFFER, how, kind)
#define LOAD(suffix, size) EACH_SEGMENT(suffix, load_anywhere, size, 0, ACCESS_LOAD, "d01|01", "d0", "d013|013")
#define SMALL(suffix, size, extend) \
    EACH_SEGMENT(suffix, load_anywhere, size, extend, ACCESS_LOAD, "d01|01", "d0", "d013|013")
#define STORE(suffix, size) EACH_SEGMENT(suffix, store, size, 0, ACCESS_STORE, "021", "02", "2013")
#define STORE_SMALL(suffix, size, high) \
    EACH_SEGMENT(suffix, store_part, size, high, ACCESS_STORE, "021", "02", "2013")
#define ATOMIC(suffix, op, size) \
    ROW("global_" #suffix, atomic, "d021|021", FAMILY_GLOBAL, size, SEGMENT_GLOBAL, op, ACCESS_ATOMIC) \
    ROW("flat_" #suffix, atomic, "d02|02", FAMILY_FLAT, size, SEGMENT_FLAT, op, ACCESS_ATOMIC) \
    ROW("buffer_" #suffix, atomic, "2013", FAMILY_BUFFER, size, SEGMENT_BUFFER, op, ACCESS_ATOMIC)
#define TO_LDS(suffix, size, extend) \
    ROW("global_load_lds_" #suffix, load_to_lds, "01", FAMILY_GLOBAL, size, SEGMENT_GLOBAL, extend, ACCESS_LOAD)
#define TO_LDS_ALSO_SCRATCH(suffix, size, extend) \
    TO_LDS(suffix, size, extend) \
    ROW("scratch_load_lds_" #suffix, load_to_lds, "01", FAMILY_SCRATCH, size, SEGMENT_SCRATCH, extend, ACCESS_LOAD)
#define CACHE(name) {.mnemonic = #name, .run = control_no_effect, .layout = "*", .family = FAMILY_MISC, .modifiers = MOD_CACHE},

static const Row rows[] = {
#include "isa/global.def"
    TO_LDS_ALSO_SCRATCH(dword, 4, EXTEND_ZERO) TO_LDS_ALSO_SCRATCH(ubyte, 1, EXTEND_ZERO)
    TO_LDS_ALSO_SCRATCH(sbyte, 1, EXTEND_SIGN) TO_LDS_ALSO_SCRATCH(ushort, 2, EXTEND_ZERO)
    TO_LDS_ALSO_SCRATCH(sshort, 2, EXTEND_SIGN) TO_LDS(dwordx3, 12, EXTEND_ZERO)
    TO_LDS(dwordx4, 16, EXTEND_ZERO)
    ROW("global_load_tr_b128", load_transposed, "d01", FAMILY_GLOBAL, 16, SEGMENT_GLOBAL, 0, ACCESS_LOAD)
    ROW("global_load_tr_b64", load_transposed, "d01", FAMILY_GLOBAL, 8, SEGMENT_GLOBAL, 0, ACCESS_LOAD)
    ROW("global_load_block", load_block, "d01", FAMILY_GLOBAL, 4, SEGMENT_GLOBAL, 0, ACCESS_LOAD)
    ROW("global_store_block", store_block, "021", FAMILY_GLOBAL, 4, SEGMENT_GLOBAL, 0, ACCESS_STORE)
    ROW("scratch_load_block", load_block, "d01", FAMILY_SCRATCH, 4, SEGMENT_SCRATCH, 0, ACCESS_LOAD)
    ROW("scratch_store_block", store_block, "021", FAMILY_SCRATCH, 4, SEGMENT_SCRATCH, 0, ACCESS_STORE)
    CACHE(buffer_wbl2) CACHE(buffer_inv) CACHE(buffer_invl2) CACHE(buffer_wbinvl1) CACHE(buffer_wbinvl1_vol)
    CACHE(buffer_gl0_inv) CACHE(buffer_gl1_inv) CACHE(global_inv) CACHE(global_wb) CACHE(global_wbinv)
};

const RowTable isa_global = {rows, sizeof rows / sizeof *rows};
