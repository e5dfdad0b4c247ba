/*
 * Unset bits in arithmetic. Sources are read with the same functions as values, from
 * a wave whose registers hold unset bits, so that modifiers, SDWA, DPP and halves move these bits as they move values.
 */
#include "checks/uninit/compute.h"

#include "checks/uninit/registers.h"
#include "checks/uninit/rules.h"
#include "isa/convert.h"
#include "machine/lanes.h"

enum { TAKEN = 3 };              /* sources that rules know */

static bool named(const Inst *i, const char *with) { return !strncmp(i->row->mnemonic, with, strlen(with)); }

/* The instruction without modifiers that only change values. */
static Inst plain_of(const Inst *i)
{
    Inst plain = *i;
    plain.neg = plain.neg_hi = plain.abs = plain.omod = plain.clamp = 0;
    return plain;
}

/* A wave whose registers hold the unset bits of another's. It has that one's EXEC. */
static Wave wave_of_bits(const Wave *w, Uninit *t)
{
    Wave bits_known = *w;
    bits_known.v = t->vector;
    memcpy(bits_known.s, t->scalar, sizeof bits_known.s);
    memcpy(&bits_known.s[SGPR_EXEC], &w->s[SGPR_EXEC], 2 * sizeof *w->s);
    return bits_known;
}

static bool has_64_bits(u8 type) { return type == TYPE_U64 || type == TYPE_I64 || type == TYPE_F64 || type == TYPE_PKF32; }

static u64 whole_of(u8 type) { return is_half_type(type) ? 0xffff : has_64_bits(type) ? ~0ull : 0xffffffff; }

/* ---- sources ---- */

typedef struct {
    u64 value[LANES], unset[LANES];
    u64 lanes, undefined;            /* lanes with unset bits; lanes with no set input */
    bool vector;                 /* else the same for all lanes */
    u8 origin;
} Source;

static void read_rows(Wave *w, const Inst *i, int k, u64 *out)
{
    u32 scratch_row[2 * LANES];
    u8 type = i->row->source[k];
    if (type == TYPE_PKF32) {
        Halves h = source_halves(w, i, k, scratch_row);
        for (u32 l = 0; l < LANES; l++)
            out[l] = pair(h.low[l], h.high[l]);
        return;
    }
    bool packed = type == TYPE_PKF16 || type == TYPE_PKU16;
    const u32 *from = packed              ? source_packed(w, i, k, scratch_row)
                      : has_64_bits(type) ? source64(w, i, k, scratch_row)
                                          : source(w, i, k, scratch_row);
    for (u32 l = 0; l < LANES; l++)
        out[l] = (has_64_bits(type) ? pair(from[l], from[LANES + l]) : from[l]) & whole_of(type);
}

static Source read_source(Wave *w, Wave *bits_known, const Inst *i, const Uninit *t, int k)
{
    Source s = {.vector = i->source[k] >= FIRST_VGPR};
    u32 reg = i->source[k];
    read_rows(w, i, k, s.value);
    if (!is_register(reg) || reg == SGPR_EXEC || reg == SGPR_EXEC + 1) /* EXEC is set; `bits_known` holds its value */
        return s;
    read_rows(bits_known, i, k, s.unset);
    for (u32 l = 0; l < LANES; l++)
        s.lanes |= (u64)(s.unset[l] != 0) << l;
    bool upper = has_64_bits(i->row->source[k]) && !lanes_of(t, reg);
    s.origin = t->origin[reg + upper];
    s.undefined = t->undefined[reg + upper];
    if (i->dpp && k == 0)
        s.undefined = dpp_moved(w, i, s.undefined);
    return s;
}

/* The part of a source that SDWA selects, or that its type has. */
static u64 widest(const Inst *i, u32 k)
{
    bool selects = i->sdwa && k < 2 && i->select[k] != SELECT_DWORD;
    return !selects ? whole_of(i->row->source[k]) : i->select[k] < SELECT_WORD_0 ? 0xff : 0xffff;
}

/* All bits that a source has: if all of them are unset, none of the source was set. */
static u64 at_most(const Inst *i, const Rule *r, const Source *s, u32 k, u32 lane)
{
    if (s->lanes >> lane & 1)
        return s->undefined >> lane & 1 ? s->unset[lane] : widest(i, k);
    return !s->vector || r->selects >> k & 1 ? 0 : whole_of(i->row->source[k]);
}

/* ---- results ---- */

typedef struct {
    u32 bits[2 * LANES];         /* low words, high words */
    u64 lanes;                   /* that depend on something unset */
    u64 undefined, partly_defined, placed;
    u8 origin;
} Result;

static bool takes_carry(const Inst *i)
{
    const char *name = i->row->mnemonic;
    return strstr(name, "addc") || strstr(name, "subb");
}

/* Borrowed and carried bits come as a mask of lanes. */
static u64 carry_bits(const Wave *w, const Inst *i, const Uninit *t)
{
    return i->source[2] < SCALAR_FILE ? uninit_mask_bits(w, t, i->source[2]) : 0;
}

static bool is_taken(const Inst *i, u32 k) { return i->row->source[k] != TYPE_NONE; }

static u64 settled(const Inst *i, u64 bits) { return bits & whole_of(i->row->result); }

static void result_of_lane(const Inst *i, const Rule *rule, const Source *s, u32 sources, u64 carry, u32 l, Result *r)
{
    Seen seen[TAKEN] = {{0, 0}}, most[TAKEN] = {{0, 0}};
    for (u32 k = 0; k < sources; k++) {
        seen[k] = (Seen){s[k].value[l], s[k].unset[l]};
        most[k] = (Seen){s[k].value[l], at_most(i, rule, &s[k], k, l)};
    }
    bool compares = i->row->result == TYPE_NONE;
    u64 bits = rule->unset(rule, i, seen, l);
    if (compares || carry >> l & 1) {
        r->lanes |= (u64)(bits || carry >> l & 1) << l;
        bits = compares ? 0 : whole_of(i->row->result);
    }
    bits = settled(i, bits);
    r->bits[l] = (u32)bits;
    r->bits[LANES + l] = (u32)(bits >> 32);
    r->lanes |= (u64)(bits != 0) << l;
    r->undefined |= (u64)(bits == settled(i, rule->unset(rule, i, most, l))) << l;
}

/* Lanes in which every unset source is at its place in memory order and stays there: in that half of the register. */
static u64 placed_lanes(const Inst *i, const Uninit *t, const Source *s, u32 count, u32 in_place)
{
    u64 lanes = i->sdwa || i->dpp || i->half & HALF_RESULT_UPPER ? 0 : ~0ull;
    for (u32 k = 0; k < count; k++)
        if (is_register(i->source[k]))
            lanes &= ~s[k].lanes | (in_place >> k & 1 && !(i->half >> k & 1) ? t->placed[i->source[k]] : 0);
    return lanes;
}

static bool is_whole(u8 type)
{
    return type == TYPE_NONE || type == TYPE_U32 || type == TYPE_I32 || type == TYPE_F32 || has_64_bits(type);
}

/* Arithmetic on whole registers, the bulk of what follows a value that was never set: lanes decide, values do not. */
static bool by_lanes(const Inst *i, const Rule *rule)
{
    bool whole = uninit_depends_on_all(rule) && is_whole(i->row->result) && !i->sdwa && !i->dpp && !i->half;
    for (u32 k = 0; whole && k < TAKEN && is_taken(i, k); k++) {
        u32 reg = i->source[k];
        whole = is_whole(i->row->source[k]) && (!is_register(reg) || reg < SGPR_EXEC || reg >= FIRST_VGPR);
    }
    return whole;
}

static Result computed_by_lanes(const Inst *i, const Uninit *t)
{
    Result r = {.lanes = 0};
    for (u32 k = 0; k < TAKEN && is_taken(i, k); k++) {
        u32 reg = i->source[k];
        if (!is_register(reg))
            continue;
        u64 low = lanes_of(t, reg), lanes = low | (has_64_bits(i->row->source[k]) ? lanes_of(t, reg + 1) : 0);
        r.lanes |= lanes;
        r.origin = lanes ? t->origin[low ? reg : reg + 1] : r.origin;
    }
    r.undefined = r.lanes;
    r.placed = ~r.lanes;
    for (u32 l = 0; i->row->result != TYPE_NONE && l < LANES; l++)
        r.bits[l] = r.bits[LANES + l] = r.lanes >> l & 1 ? ~0u : 0;
    return r;
}

static Result computed(Wave *w, const Inst *i, Uninit *t)
{
    if (by_lanes(i, uninit_rule_of(i)))
        return computed_by_lanes(i, t);
    Result r = {.lanes = 0};
    Wave bits_known = wave_of_bits(w, t);
    const Inst plain = plain_of(i);
    const Rule *rule = uninit_rule_of(i);
    Source s[TAKEN];
    u64 carry = takes_carry(i) ? carry_bits(w, i, t) : 0, touched = carry;
    u32 sources = 0;
    if (carry)
        r.origin = t->origin[i->source[2]];
    for (; sources < (takes_carry(i) ? 2 : TAKEN) && is_taken(i, sources); sources++) {
        s[sources] = read_source(w, &bits_known, &plain, t, (int)sources);
        touched |= s[sources].lanes;
        r.origin = s[sources].lanes ? s[sources].origin : r.origin;
    }
    for (u32 l = 0; l < LANES; l++)
        if (touched >> l & 1)
            result_of_lane(i, rule, s, sources, carry, l, &r);
    if (named(i, "v_mov_b") && !i->sdwa && !i->dpp && is_register(i->source[0]))
        r.partly_defined = t->partly_defined[i->source[0]];
    r.placed = placed_lanes(i, t, s, sources, uninit_sources_in_place(rule));
    return r;
}

/* v_cndmask_b32 d, a, b, mask: b where the mask is set. Halves of dual instructions have VCC for a mask. */
static Result chosen(Wave *w, const Inst *i, Uninit *t)
{
    Result r = {.lanes = 0};
    Wave bits_known = wave_of_bits(w, t);
    const Inst plain = plain_of(i);
    u32 mask = i->operands == 3 ? SGPR_VCC : i->source[2];
    u64 second = i->operands == 3 ? lane_bits(w, SGPR_VCC) : mask_source(w, i, 2);
    u64 open = mask < SCALAR_FILE ? uninit_mask_bits(w, t, mask) : 0, whole = is_half_type(i->row->result) ? 0xffff : 0xffffffff;
    Source s[2] = {read_source(w, &bits_known, &plain, t, 0), read_source(w, &bits_known, &plain, t, 1)};
    for (u32 l = 0; l < LANES; l++) {
        const Source *from = &s[second >> l & 1];
        r.bits[l] = (u32)(open >> l & 1 ? whole : from->unset[l]);
        r.lanes |= (u64)(r.bits[l] != 0) << l;
        if (from->unset[l])
            r.origin = from->origin;
    }
    for (u32 k = 0; k < 2 && !i->sdwa && !is_half_type(i->row->result); k++) {
        u64 lanes = (k ? second : ~second) & ~open, partly_defined = is_register(i->source[k]) ? t->partly_defined[i->source[k]] : 0;
        r.undefined |= s[k].undefined & lanes;
        r.placed |= is_register(i->source[k]) && !i->dpp ? t->placed[i->source[k]] & lanes : 0;
        r.partly_defined |= (i->dpp && k == 0 ? dpp_moved(w, i, partly_defined) : partly_defined) & lanes;
    }
    if (r.lanes && !((s[0].lanes & ~second) | (s[1].lanes & second)))
        r.origin = t->origin[mask];
    return r;
}

static bool chooses(const Inst *i) { return strstr(i->row->mnemonic, "cndmask"); }
static Result result_of(Wave *w, const Inst *i, Uninit *t) { return chooses(i) ? chosen(w, i, t) : computed(w, i, t); }

static void put_bits(Wave *w, const Inst *i, Uninit *t, const Result *r, u64 written, bool two)
{
    if (is_whole(i->row->result) && !i->sdwa && !i->half && !is_scalar(i->dst)) {
        put_masked(t->vector[i->dst - FIRST_VGPR], r->bits, written);
        if (two)
            put_masked(t->vector[i->dst + 1 - FIRST_VGPR], r->bits + LANES, written);
        return;
    }
    Wave bits_known = wave_of_bits(w, t);
    const Inst plain = plain_of(i);
    if (two)
        put64(&bits_known, &plain, r->bits);
    else
        put(&bits_known, &plain, r->bits);
}

static void put_result(Wave *w, const Inst *i, Uninit *t, const Result *r)
{
    bool two = has_64_bits(i->row->result);
    bool part = i->half & HALF_RESULT_ALONE || (i->sdwa && i->dst_unused == UNUSED_PRESERVE);
    u64 written = write_mask(w, i);
    put_bits(w, i, t, r, written, two);
    for (u32 reg = i->dst; reg <= (u32)i->dst + two; reg++) {
        t->undefined[reg] = (t->undefined[reg] & ~written) | (part ? 0 : r->undefined & written);
        t->partly_defined[reg] = (t->partly_defined[reg] & ~written) | (r->partly_defined & written);
        u64 kept = part ? ~written | ~r->lanes : ~written; /* bits that are set next to a part leave the part where it was */
        t->placed[reg] = (t->placed[reg] & kept) | (r->placed & ~kept);
        t->origin[reg] = r->lanes & written ? r->origin : t->origin[reg];
        uninit_settle(t, reg);
    }
}

/* Carries and results of compares. */
static void put_mask_result(const Wave *w, const Inst *i, Uninit *t, const Result *r)
{
    if (i->sdst < SGPR_NULL)
        uninit_put_mask(w, t, i->sdst, r->lanes & write_mask(w, i), r->origin);
}

/* ---- without a rule: all registers of the result depend on all that are read ---- */

static u64 lanes_read(const Wave *w, const Inst *i, const Uninit *t, const AnnotatedOperand *o, u8 *origin)
{
    u64 lanes = 0;
    for (u32 reg = o->first; o->read && reg < (u32)o->first + o->count; reg++) {
        u64 some = lanes_of(t, reg);
        if (i->dpp && o->first == i->source[0] && !is_scalar(reg))
            some = dpp_moved(w, i, some);
        *origin = some ? t->origin[reg] : *origin;
        lanes |= some;
    }
    return lanes;
}

static void compute_registers(const Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    u64 lanes = 0;
    u8 origin = 0;
    for (u32 k = 0; k < n->operands; k++)
        lanes |= lanes_read(w, i, t, &n->operand[k], &origin);
    lanes &= exec_mask(w);
    if (lanes)
        uninit_record_use(w, i, t, origin);
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].result && r < n->operand[k].count; r++) {
            u32 reg = n->operand[k].first + r;
            if (is_scalar(reg) && !r)
                uninit_put_mask(w, t, reg, lanes, origin);
            if (is_scalar(reg))
                continue;
            u32 part = r ? ~0u : convert_written_bits(i);
            uninit_clear(t, reg, part, exec_mask(w));
            uninit_set(t, reg, lanes, part, 0, origin);
        }
}

/* Every register that the instruction reads is one of the sources that rules know, or the mask of a carry. */
static bool fits_rules(const Inst *i, const Annotation *n)
{
    if (i->row->result == TYPE_WIDE || convert_written_bits(i) != ~0u)
        return false;
    for (u32 k = 0; k < SOURCES; k++)
        if (is_taken(i, k) && (k >= TAKEN || i->row->source[k] == TYPE_WIDE))
            return false;
    for (u32 o = 0; o < n->operands; o++) {
        bool known = !n->operand[o].read;
        for (u32 k = 0; k < TAKEN; k++)
            known |= is_taken(i, k) && n->operand[o].first == i->source[k];
        if (!known)
            return false;
    }
    return true;
}

void uninit_compute(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    if (!fits_rules(i, n)) {
        compute_registers(w, i, t, n);
        return;
    }
    Result r = result_of(w, i, t);
    if (n->passage == PASS_COMPUTED && r.lanes & write_mask(w, i))
        uninit_record_use(w, i, t, r.origin);
    if (i->row->result != TYPE_NONE && i->dst != 0xffff)
        put_result(w, i, t, &r);
    put_mask_result(w, i, t, &r);
}

/* Both halves of a dual instruction read before either writes. */
void uninit_compute_dual(Wave *w, const Inst *i, Uninit *t)
{
    const Inst *op = &w->program->halves[i->target];
    Result r[2] = {result_of(w, &op[0], t), result_of(w, &op[1], t)};
    for (u32 k = 0; k < 2; k++) {
        if (!named(&op[k], "v_mov") && !chooses(&op[k]) && r[k].lanes & exec_mask(w))
            uninit_record_use(w, i, t, r[k].origin);
        put_result(w, &op[k], t, &r[k]);
    }
}

/* ---- scalars ---- */

static Seen scalar_seen(const Wave *w, const Inst *i, const Uninit *t, u32 k, u8 *origin)
{
    bool two = has_64_bits(i->row->source[k]);
    u32 reg = i->source[k];
    Seen s = {two ? scalar64(w, i, (int)k) : scalar32(w, i, (int)k), 0};
    if (reg < SCALAR_FILE)
        s.unset = pair(t->scalar[reg], two ? t->scalar[reg + 1] : 0);
    else if (reg == SOURCE_SCC)
        s.unset = t->scalar[reg];
    if (s.unset)
        *origin = t->origin[lanes_of(t, reg) ? reg : reg + 1];
    return s;
}

static void put_scalar_bits(Uninit *t, const Inst *i, u64 bits, bool undefined, u8 origin)
{
    for (u32 k = 0; i->sdst < SGPR_NULL && k < (has_64_bits(i->row->result) ? 2u : 1u); k++) {
        u32 reg = i->sdst + k;
        t->scalar[reg] = (u32)(bits >> 32 * k);
        t->undefined[reg] = undefined ? ~0ull : 0;
        t->partly_defined[reg] = t->placed[reg] = 0;
        t->origin[reg] = origin;
        uninit_settle(t, reg);
    }
}

/* A result other than zero sets SCC. A defined bit that is set decides this, whatever else is unset. */
static bool surely_not_zero(const Inst *i, const Seen *s)
{
    u64 ones[2] = {s[0].value & ~s[0].unset, s[1].value & ~s[1].unset};
    return (named(i, "s_and_b") && ones[0] & ones[1]) || (named(i, "s_or_b") && ones[0] | ones[1]);
}

/* It decides which lanes continue. */
static void use_sources(Wave *w, const Inst *i, Uninit *t)
{
    for (u32 k = 0; k < TAKEN && is_taken(i, k); k++) {
        u32 end = i->source[k] + (has_64_bits(i->row->source[k]) ? 2u : 1u);
        for (u32 reg = i->source[k]; reg < SCALAR_FILE && reg < end; reg++)
            if (lanes_of(t, reg))
                uninit_used(w, i, t, reg);
    }
}

static bool writes_scc(const Inst *i)
{
    static const char *const others[] = {"s_mul", "s_sext", "s_pack", "s_ff", "s_brev", "s_add_nc", "s_sub_nc"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (named(i, others[k]))
            return false;
    return i->row->result != TYPE_F32 && i->row->result != TYPE_F16;
}

static void put_scc_bits(const Inst *i, Uninit *t, bool unset, u8 origin)
{
    if (!writes_scc(i))
        return;
    t->scalar[SOURCE_SCC] = unset ? ~0u : 0;
    t->origin[SOURCE_SCC] = origin;
    uninit_settle(t, SOURCE_SCC);
}

void uninit_compute_scalar(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    Seen s[TAKEN] = {{0, 0}}, most[TAKEN] = {{0, 0}};
    const Rule *rule = uninit_rule_of(i);
    u8 origin = 0;
    for (u32 k = 0; k < TAKEN && is_taken(i, k); k++) {
        s[k] = scalar_seen(w, i, t, k, &origin);
        bool as_is = s[k].unset ? t->undefined[i->source[k]] : i->source[k] >= SCALAR_FILE || rule->selects >> k & 1;
        most[k] = (Seen){s[k].value, as_is ? s[k].unset : whole_of(i->row->source[k])};
    }
    u64 bits = rule->unset(rule, i, s, 0);
    for (u32 o = 0; !fits_rules(i, n) && o < n->operands; o++)
        bits |= lanes_read(w, i, t, &n->operand[o], &origin);
    if (takes_carry(i) && lanes_of(t, SOURCE_SCC)) {
        bits = ~0ull;
        origin = t->origin[SOURCE_SCC];
    }
    if (i->sdst == SGPR_EXEC) {
        if (bits & whole_of(i->row->result))
            use_sources(w, i, t);
        put_scc_bits(i, t, false, 0);
        return;
    }
    if (bits && n->passage != PASS_MASK)
        uninit_record_use(w, i, t, origin);
    if (i->row->result != TYPE_NONE)
        put_scalar_bits(t, i, bits & whole_of(i->row->result), bits == rule->unset(rule, i, most, 0), origin);
    put_scc_bits(i, t, bits && !surely_not_zero(i, s), origin);
}
