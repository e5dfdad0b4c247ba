/* The slow halves of operand access: modifiers, SDWA and DPP. */
#include "machine/lanes.h"

#include "machine/formats.h"

/* ---- DPP: which lane a lane reads, -1 for none.  CDNA3 ISA, RDNA3 ISA, "DPP_CTRL"; row_share is row_newbcast. ---- */

static int dpp_lane(const Inst *i, int lane)
{
    int row = lane & ~15, at = lane & 15, n = (int)i->dpp_control;
    switch (i->dpp) {
    case DPP_QUAD_PERM: return (lane & ~3) | (n >> 2 * (lane & 3) & 3);
    case DPP_ROW_SHL: return at + n < 16 ? row + at + n : -1;
    case DPP_ROW_SHR: return at - n >= 0 ? row + at - n : -1;
    case DPP_ROW_ROR: return row + ((at - n) & 15);
    case DPP_WAVE_SHL: return lane + 1 < LANES ? lane + 1 : -1;
    case DPP_WAVE_ROL: return (lane + 1) & 63;
    case DPP_WAVE_SHR: return lane - 1;
    case DPP_WAVE_ROR: return (lane - 1) & 63;
    case DPP_ROW_MIRROR: return row + 15 - at;
    case DPP_ROW_HALF_MIRROR: return (lane & ~7) + 7 - (lane & 7);
    case DPP_ROW_BCAST15: return row ? row - 1 : -1;
    case DPP_ROW_BCAST31: return lane >= 32 ? 31 : -1;
    case DPP_ROW_NEWBCAST: return row + (n & 15);
    case DPP_ROW_XMASK: return row + (at ^ (n & 15));
    case DPP_LANES_OF_8: return (lane & ~7) | (n >> 3 * (lane & 7) & 7);
    default: return lane;
    }
}

/* An inactive lane cannot be read: it counts as out of range. */
static int dpp_source(const Wave *w, const Inst *i, int lane)
{
    int from = dpp_lane(i, lane);
    return from >= 0 && (i->fetch_inactive || lane_active(w, (u32)from)) ? from : -1;
}

u64 write_mask(const Wave *w, const Inst *i)
{
    u64 mask = exec_mask(w);
    if (!i->dpp)
        return mask;
    for (int l = 0; l < LANES; l++) {
        bool enabled = i->row_mask >> (l / 16) & 1 && i->bank_mask >> (l % 16 / 4) & 1;
        if (!enabled || (!i->bound_zero && dpp_source(w, i, l) < 0))
            mask &= ~(1ull << l);
    }
    return mask;
}

u64 dpp_moved(const Wave *w, const Inst *i, u64 lanes)
{
    u64 moved = 0;
    for (int l = 0; l < LANES; l++) {
        int from = dpp_source(w, i, l);
        moved |= from < 0 ? 0 : (lanes >> from & 1) << l;
    }
    return moved;
}

static void permute(const Wave *w, const Inst *i, u32 *values)
{
    u32 from[LANES];
    memcpy(from, values, sizeof from);
    for (int l = 0; l < LANES; l++) {
        int lane = dpp_source(w, i, l);
        values[l] = lane < 0 ? 0 : from[lane];
    }
}

/* ---- sources ---- */

static u32 select_bits(u32 x, u8 select, bool sign)
{
    if (select == SELECT_DWORD)
        return x;
    if (select >= SELECT_WORD_0) {
        x = x >> (select == SELECT_WORD_1 ? 16 : 0) & 0xffff;
        return sign ? (u32)(i32)(int16_t)x : x;
    }
    x = x >> 8 * select & 0xff;
    return sign ? (u32)(i32)(int8_t)x : x;
}

static u32 sign_bit(u8 type)
{
    if (type == TYPE_F16 || type == TYPE_BF16 || type == TYPE_U16 || type == TYPE_I16)
        return 0x8000;
    return 0x80000000;
}

static void broadcast(u32 x, u32 *scratch_row)
{
    for (int l = 0; l < LANES; l++)
        scratch_row[l] = x;
}

SELDOM const u32 *source_uniform(const Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    broadcast(scalar32(w, i, k), scratch_row);
    return scratch_row;
}

SELDOM const u32 *source_slow(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    if (i->source[k] >= FIRST_VGPR)
        memcpy(scratch_row, vector(w, i->source[k]), LANES * sizeof *scratch_row);
    else
        broadcast(scalar32(w, i, k), scratch_row);
    u32 sign = sign_bit(i->row->source[k]);
    u32 clear = i->abs >> k & 1 ? sign : 0, flip = i->neg >> k & 1 ? sign : 0;
    if (i->dpp && k == 0)
        permute(w, i, scratch_row);
    if (i->sdwa && k < 2)
        for (int l = 0; l < LANES; l++)
            scratch_row[l] = select_bits(scratch_row[l], i->select[k], i->sext >> k & 1);
    if (i->half >> k & 1)
        for (int l = 0; l < LANES; l++)
            scratch_row[l] >>= 16;
    for (int l = 0; l < LANES; l++)
        scratch_row[l] = (scratch_row[l] & ~clear) ^ flip;
    return scratch_row;
}

SELDOM const u32 *source64_slow(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    if (i->source[k] >= FIRST_VGPR) {
        memcpy(scratch_row, vector(w, i->source[k]), 2 * LANES * sizeof *scratch_row);
    } else {
        u64 x = scalar64(w, i, k);
        broadcast((u32)x, scratch_row);
        broadcast((u32)(x >> 32), scratch_row + LANES);
    }
    if (i->how[k] == READ_UNIFORM)
        return scratch_row;
    if (i->dpp && k == 0) {
        permute(w, i, scratch_row);
        permute(w, i, scratch_row + LANES);
    }
    u32 clear = i->abs >> k & 1 ? 0x80000000 : 0, flip = i->neg >> k & 1 ? 0x80000000 : 0;
    for (int l = LANES; l < 2 * LANES; l++)
        scratch_row[l] = (scratch_row[l] & ~clear) ^ flip;
    return scratch_row;
}

SELDOM const u32 *source_packed_slow(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    bool low_from_high = i->op_sel >> k & 1, high_from_high = i->op_sel_hi >> k & 1;
    u32 flip = 0;
    if (i->row->source[k] == TYPE_PKF16)
        flip = (i->neg >> k & 1 ? 0x8000u : 0) | (i->neg_hi >> k & 1 ? 0x80000000u : 0);
    u32 uniform[LANES];
    const u32 *from = uniform;
    if (i->source[k] >= FIRST_VGPR) {
        from = vector(w, i->source[k]);
    } else {
        broadcast(scalar32(w, i, k), uniform);
    }
    for (int l = 0; l < LANES; l++) {
        u32 low = low_from_high ? from[l] >> 16 : from[l] & 0xffff, high = high_from_high ? from[l] >> 16 : from[l];
        scratch_row[l] = (low | high << 16) ^ flip;
    }
    return scratch_row;
}

SELDOM Halves source_halves_slow(Wave *w, const Inst *i, int k, u32 *scratch_row)
{
    u32 part[2] = {i->op_sel >> k & 1, i->op_sel_hi >> k & 1};
    u32 flip[2] = {i->neg >> k & 1 ? 0x80000000u : 0, i->neg_hi >> k & 1 ? 0x80000000u : 0};
    bool in_vector = i->source[k] >= FIRST_VGPR;
    u64 uniform = in_vector ? 0 : scalar64(w, i, k);
    for (u32 half = 0; half < 2; half++)
        for (int l = 0; l < LANES; l++) {
            u32 x = in_vector ? vector(w, i->source[k] + part[half])[l] : (u32)(uniform >> 32 * part[half]);
            scratch_row[half * LANES + l] = x ^ flip[half];
        }
    return (Halves){scratch_row, scratch_row + LANES};
}

/* ---- results ---- */

/* Output modifiers work where MODE neither asks for IEEE's rules nor lets denormals out, and know no negative zero.
 * CDNA3 ISA, "Output modifiers"; LLVM review D30209. */
static u8 working_omod(const Wave *w, const Inst *i)
{
    enum { DENORMALS_OUT_OF_F32 = 1 << 5, DENORMALS_OUT_OF_OTHERS = 1 << 7 };
    bool denormals = w->mode & (i->row->result == TYPE_F32 ? DENORMALS_OUT_OF_F32 : DENORMALS_OUT_OF_OTHERS);
    return ieee_mode(w) || denormals ? 0 : i->omod;
}
static double scaled(double x, u8 omod)
{
    static const double factor[] = {1, 2, 4, 0.5};
    return omod ? (x == 0 ? 0 : x) * factor[omod] : x;
}

static u32 modified32(const Wave *w, const Inst *i, u8 omod, u32 x)
{
    u8 type = i->row->result;
    if (type == TYPE_F32) {
        float f = (float)scaled(f32_of(x), omod);
        return bits_f32(i->clamp ? (float)clamped(w, f) : f);
    }
    if (type == TYPE_F16) {
        float f = (float)scaled(f16_of((u16)x), omod);
        return bits_f16(i->clamp ? (float)clamped(w, f) : f);
    }
    if (type == TYPE_PKF16 && i->clamp)
        return bits_f16((float)clamped(w, f16_of((u16)x))) |
               (u32)bits_f16((float)clamped(w, f16_of((u16)(x >> 16)))) << 16;
    return x; /* integer bodies saturate by themselves */
}

static u32 sdwa_merge(const Inst *i, u32 x, u32 old)
{
    static const u8 shift[] = {0, 8, 16, 24, 0, 16, 0};
    if (i->dst_select == SELECT_DWORD)
        return x;
    u32 width = i->dst_select >= SELECT_WORD_0 ? 16 : 8, at = shift[i->dst_select];
    u32 field = (1u << width) - 1;
    x &= field;
    if (i->dst_unused == UNUSED_PRESERVE)
        return (old & ~(field << at)) | x << at;
    if (i->dst_unused == UNUSED_SEXT && x >> (width - 1) & 1 && at + width < 32)
        return x << at | ~0u << (at + width);
    return x << at;
}

SELDOM void put_slow(Wave *w, const Inst *i, const u32 *result)
{
    u32 scratch_row[LANES], *to = vector(w, i->dst);
    bool upper = i->half & HALF_RESULT_UPPER, alone = i->half & HALF_RESULT_ALONE;
    memcpy(scratch_row, result, sizeof scratch_row);
    u8 omod = working_omod(w, i);
    for (int l = 0; (i->clamp || omod) && l < LANES; l++)
        scratch_row[l] = modified32(w, i, omod, scratch_row[l]);
    if (i->sdwa)
        for (int l = 0; l < LANES; l++)
            scratch_row[l] = sdwa_merge(i, scratch_row[l], to[l]);
    else if (upper)
        for (int l = 0; l < LANES; l++)
            scratch_row[l] = (to[l] & 0xffff) | scratch_row[l] << 16;
    else if (alone)
        for (int l = 0; l < LANES; l++)
            scratch_row[l] = (to[l] & 0xffff0000) | (scratch_row[l] & 0xffff);
    put_masked(to, scratch_row, write_mask(w, i));
}

SELDOM void put64_slow(Wave *w, const Inst *i, const u32 *result)
{
    u32 scratch_row[2 * LANES];
    memcpy(scratch_row, result, sizeof scratch_row);
    u8 omod = working_omod(w, i);
    for (int l = 0; (i->clamp || omod) && l < LANES; l++) {
        if (i->row->result == TYPE_F64) {
            double x = scaled(f64_of(pair(scratch_row[l], scratch_row[LANES + l])), omod);
            u64 bits = bits_f64(i->clamp ? clamped(w, x) : x);
            scratch_row[l] = (u32)bits;
            scratch_row[LANES + l] = (u32)(bits >> 32);
        } else if (i->row->result == TYPE_PKF32 && i->clamp) {
            scratch_row[l] = bits_f32((float)clamped(w, f32_of(scratch_row[l])));
            scratch_row[LANES + l] = bits_f32((float)clamped(w, f32_of(scratch_row[LANES + l])));
        }
    }
    u64 mask = write_mask(w, i);
    put_masked(vector(w, i->dst), scratch_row, mask);
    put_masked(vector(w, i->dst + 1), scratch_row + LANES, mask);
}

/* A compare's mask: inactive lanes give 0. */
void put_mask(Wave *w, const Inst *i, u64 mask) { put_lane_bits(w, i->sdst, mask & write_mask(w, i)); }
