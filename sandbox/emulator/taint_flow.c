/*
 * What instructions make of unset values: they move, choose, combine or compute, lane by lane and byte by byte, and what
 * comes of them is unset in turn; a few use them.
 */
#include "access.h"
#include "taint.h"

/* Lanes of an operand that an instruction reads: all of a scalar, but where it is a mask that can only send lanes to
 * sleep. */
static u64 reads(const Wave *w, const Inst *i, u32 reg)
{
    return reg < FIRST_VGPR && !strstr(i->row->mnemonic, "saveexec") ? ~0ull : exec_mask(w);
}

static void use_operand(Wave *w, const Inst *i, Taint *t, const NotedOperand *o)
{
    for (u32 reg = o->first; reg < o->first + o->count; reg++)
        if (lanes_of(t, reg) & reads(w, i, reg))
            used(w, i, t, reg);
}

/* The result's registers take over what the source's hold, one for one. A scalar is unset in all its bits, unless it is
 * a mask of lanes. */
typedef struct { u64 plane[4][PLANES]; u8 origin[4]; u32 count; } Carried;

static u64 spread_to(bool to_vector, u32 from, u64 bits)
{
    return to_vector && from < FIRST_VGPR && bits ? ~0ull : bits;
}

static Carried carried_from(const Wave *w, const Inst *i, const Taint *t, const NotedOperand *o, bool to_vector)
{
    Carried c = {.count = o->count < 4 ? o->count : 4};
    for (u32 k = 0; k < c.count; k++) {
        u32 reg = o->first + k;
        u64 lanes = to_vector ? exec_mask(w) : reads(w, i, reg);
        for (u32 p = 0; p < PLANES; p++)
            c.plane[k][p] = spread_to(to_vector, reg, t->plane[reg][p]) & lanes;
        c.origin[k] = t->origin[reg];
    }
    return c;
}

static void carry_to(Taint *t, const NotedOperand *result, const Carried *c)
{
    for (u32 k = 0; k < c->count && k < result->count; k++)
        for (u32 p = 0; p < PLANES; p++)
            mark(t, result->first + k, 1u << p, c->plane[k][p], c->origin[k]);
}

static u32 result_bytes(const Inst *i)
{
    if (i->row->result == TYPE_NONE || !is_half_type(i->row->result))
        return ALL_BYTES;
    return i->half & HALF_RESULT_UPPER ? UPPER : LOWER;
}

/* Loads into one half leave the other as it was only where registers have no ECC. */
static u32 overwritten(const Wave *w, const Inst *i)
{
    if (i->sdwa && i->dst_unused == UNUSED_PRESERVE)
        return sdwa_bytes(i);
    if (i->row->family == FAMILY_VALU)
        return i->half & HALF_RESULT_ALONE ? result_bytes(i) : ALL_BYTES;
    bool one_half = strstr(i->row->mnemonic, "d16") && w->program->generation != GFX9;
    return one_half ? moved_bytes(i, 2) : ALL_BYTES;
}

static void overwrite(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    u64 lanes = i->dpp ? write_mask(w, i) : exec_mask(w);
    u32 bytes = overwritten(w, i);
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].result && r < n->operand[k].count; r++) {
            bool scalar = n->operand[k].first < FIRST_VGPR;
            clear(t, n->operand[k].first + r, scalar ? ALL_BYTES : bytes, scalar ? ~0ull : lanes);
        }
}

/* ---- what is computed ---- */

/* Lanes whose result depends on an unset value, and where that was loaded. */
typedef struct { u64 lanes; u8 origin; } Depends;

static bool named(const Inst *i, const char *with) { return !strncmp(i->row->mnemonic, with, strlen(with)); }

/* The noted operand that is source `k`; constants are not among them. Half of a dual instruction has no notes. */
static NotedOperand noted_source(const Inst *i, const Note *n, u32 k)
{
    bool is_register = i->source[k] < SCALAR_FILE || (i->source[k] >= FIRST_VGPR && i->source[k] < REGISTER_NUMBERS);
    if (!n)
        return is_register ? (NotedOperand){.first = i->source[k], .count = 1, .read = true} : (NotedOperand){0};
    for (u32 o = 0; is_register && o < n->operands; o++)
        if (n->operand[o].read && n->operand[o].first == i->source[k])
            return n->operand[o];
    return (NotedOperand){0};
}

/* A shift of 64 bits by 32, as unoptimised code takes pairs apart: one word is moved, and nothing is left of the other. */
static bool moves_word(const Wave *w, const Inst *i, Taint *t, const Note *n)
{
    bool left = named(i, "v_lshlrev_b64");
    NotedOperand from = noted_source(i, n, 1), to = n->operand[0];
    if ((!left && !named(i, "v_lshrrev_b64")) || i->source[0] >= FIRST_VGPR || scalar32(w, i, 0) != 32 || from.count != 2)
        return false;
    NotedOperand word = {.first = (u16)(from.first + !left), .count = 1};
    NotedOperand place = {.first = (u16)(to.first + left), .count = 1};
    Carried c = carried_from(w, i, t, &word, true);
    for (u32 r = 0; r < 2; r++)
        clear(t, to.first + r, ALL_BYTES, exec_mask(w));
    carry_to(t, &place, &c);
    return true;
}

static void depend(const Wave *w, const Inst *i, const Taint *t, const NotedOperand *o, u32 bytes, bool mask, Depends *d)
{
    for (u32 reg = o->first; reg < (u32)o->first + o->count; reg++) {
        u64 lanes = unset_in(t, reg, bytes);
        if (reg < FIRST_VGPR)
            lanes = mask ? lanes : spread_to(true, reg, lanes);
        else if (i->dpp && o->first == i->source[0])
            lanes = dpp_moved(w, i, lanes);
        lanes &= i->row->family == FAMILY_SALU ? ~0ull : exec_mask(w);
        if (lanes)
            *d = (Depends){d->lanes | lanes, t->origin[reg]};
    }
}

static bool takes_carry(const Inst *i)
{
    const char *name = i->row->mnemonic;
    return strstr(name, "addc") || strstr(name, "subb") || strstr(name, "_ci_");
}

static u32 bytes_read_by(const Wave *w, const Inst *i, u32 k, u32 result)
{
    u32 bytes = 0;
    for (u32 b = 0; b < 4; b++)
        bytes |= result >> b & 1 ? bytes_read(w, i, k, b) : 0;
    return bytes;
}

/* What these bytes of the result depend on. `low`: of pairs of registers, on the first alone. */
static Depends dependence(const Wave *w, const Inst *i, const Taint *t, const Note *n, u32 result, bool low)
{
    Depends d = {0};
    bool carry = takes_carry(i);
    for (u32 k = 0; k < SOURCES && i->row->source[k] != TYPE_NONE; k++) {
        NotedOperand o = noted_source(i, n, k);
        o.count = low && o.count ? 1 : o.count;
        u32 bytes = bytes_read_by(w, i, k, result);
        if (o.count && bytes)
            depend(w, i, t, &o, bytes, carry && k == 2, &d);
    }
    return d;
}

static u64 blank_source(const Wave *w, const Inst *i, const Taint *t, u32 reg, u32 bytes)
{
    u64 lanes = unset_alone(t, reg) | all_unset_in(t, reg, bytes);
    if (reg >= FIRST_VGPR)
        return i->dpp && reg == i->source[0] ? dpp_moved(w, i, lanes) : lanes;
    bool is_constant = i->row->family != FAMILY_SALU && !lanes_of(t, reg);
    return lanes || is_constant ? ~0ull : 0;
}

/* Lanes of which nothing but unset values and what is the same for all lanes goes into the result. Half of a dual
 * instruction has no notes. */
static u64 blank_sources(const Wave *w, const Inst *i, const Taint *t, const Note *n)
{
    u64 lanes = i->sdwa && i->dst_unused == UNUSED_PRESERVE ? 0 : ~0ull;
    for (u32 k = 0; k < SOURCES && i->row->source[k] != TYPE_NONE; k++) {
        NotedOperand o = noted_source(i, n, k);
        u32 bytes = bytes_read_by(w, i, k, ALL_BYTES);
        for (u32 reg = o.first; bytes && reg < (u32)o.first + o.count; reg++)
            lanes &= blank_source(w, i, t, reg, bytes);
    }
    return lanes;
}

/* Carries and results of compares are masks of lanes: the first register has all of them here. */
static void mark_result(const Inst *i, Taint *t, const NotedOperand *o, u32 planes, Depends d)
{
    bool is_mask = i->row->family != FAMILY_SALU && o->first < FIRST_VGPR;
    for (u32 r = 0; r < (is_mask ? 1u : o->count); r++)
        mark(t, o->first + r, is_mask ? ALL_BYTES : planes, d.lanes, d.origin);
}

static void note_use(const Wave *w, const Inst *i, Taint *t, Depends d)
{
    Origin *from = &t->origins.known[d.origin];
    if (d.lanes && !from->use.at)
        from->use = place_in_code(w, i);
}

static void mark_results(const Inst *i, Taint *t, const Note *n, u32 planes, Depends d)
{
    for (u32 k = 0; d.lanes && k < n->operands; k++)
        if (n->operand[k].result)
            mark_result(i, t, &n->operand[k], planes, d);
}

/* Sums of 64 bits, whose lower word depends on lower words alone: the compiler leaves anything in the upper ones where
 * it wants no more. */
static bool sums_words(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    if (!named(i, "v_mad_u64_u32") && !named(i, "v_mad_i64_i32") && !named(i, "v_lshl_add_u64"))
        return false;
    Depends lower = dependence(w, i, t, n, ALL_BYTES, true), upper = dependence(w, i, t, n, ALL_BYTES, false);
    NotedOperand first = n->operand[0];
    first.count = 1;
    overwrite(w, i, t, n);
    note_use(w, i, t, upper);
    mark_results(i, t, n, ALL_BYTES, upper);
    clear(t, first.first, ALL_BYTES, exec_mask(w));
    mark_result(i, t, &first, ALL_BYTES, lower);
    return true;
}

static void compute(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    if (moves_word(w, i, t, n) || sums_words(w, i, t, n))
        return;
    u32 result = result_bytes(i);
    bool is_data = n->operand[0].first >= FIRST_VGPR || i->row->family == FAMILY_SALU;
    bool by_bytes = is_data && n->operand[0].count == 1;
    u64 writes = i->dpp ? write_mask(w, i) : ~0ull, blank = by_bytes ? blank_sources(w, i, t, n) : 0;
    Depends d[4] = {{0}};
    for (u32 b = 0; b < 4; b++)
        if (by_bytes ? result >> b & 1 : !b)
            d[b] = dependence(w, i, t, n, by_bytes ? 1u << b : result, false);
    overwrite(w, i, t, n);
    for (u32 b = 0; b < 4; b++) {
        d[b].lanes &= writes;
        if (n->passage == PASS_COMPUTED)
            note_use(w, i, t, d[b]);
        mark_results(i, t, n, by_bytes ? 1u << b : result, d[b]);
        mark_results(i, t, n, BLANK, (Depends){d[b].lanes & blank, d[b].origin});
    }
}

/* Likewise of v_cndmask: one of two sources, as the mask says. */
static Depends choice(const Wave *w, const Inst *i, const Taint *t, const Note *n, u32 result, const NotedOperand *mask,
                      u64 second)
{
    Depends d = {0};
    depend(w, i, t, mask, ALL_BYTES, true, &d);
    for (u32 side = 0; side < 2; side++) {
        Depends one = {0};
        NotedOperand from = noted_source(i, n, side);
        depend(w, i, t, &from, bytes_read(w, i, side, result), false, &one);
        one.lanes &= side ? second : ~second;
        if (one.lanes)
            d = (Depends){d.lanes | one.lanes, one.origin};
    }
    return d;
}

/* Both halves of a dual instruction read before either writes. */
static void compute_dual(Wave *w, const Inst *i, Taint *t)
{
    const Inst *op = &w->program->halves[i->target];
    const NotedOperand vcc = {.first = SGPR_VCC, .count = 1};
    Depends d[2][4];
    u64 blank[2];
    for (u32 k = 0; k < 2; k++) {
        blank[k] = blank_sources(w, &op[k], t, NULL);
        for (u32 b = 0; b < 4; b++)
            d[k][b] = strstr(op[k].row->mnemonic, "cndmask")
                          ? choice(w, &op[k], t, NULL, b, &vcc, lane_bits(w, SGPR_VCC))
                          : dependence(w, &op[k], t, NULL, 1u << b, false);
    }
    for (u32 k = 0; k < 2; k++) {
        clear(t, op[k].dst, ALL_BYTES, exec_mask(w));
        for (u32 b = 0; b < 4; b++) {
            if (!named(&op[k], "v_mov") && !named(&op[k], "v_cndmask"))
                note_use(w, i, t, d[k][b]);
            mark(t, op[k].dst, 1u << b, d[k][b].lanes, d[k][b].origin);
            mark(t, op[k].dst, BLANK, d[k][b].lanes & blank[k], d[k][b].origin);
        }
    }
}

/* Where values go among lanes, flags in their place go as well: the instruction runs on those, and nothing is left of
 * it. */
static void exchange(Wave *w, const Inst *i, Taint *t)
{
    bool addressed = i->row->family == FAMILY_LDS && i->source[1] >= FIRST_VGPR && i->source[1] < REGISTER_NUMBERS;
    u32 from = i->source[addressed ? 1 : 0], to = i->dst;
    if (from < FIRST_VGPR || to < FIRST_VGPR || from >= REGISTER_NUMBERS || to >= REGISTER_NUMBERS)
        return;
    u32 *source = w->v[from - FIRST_VGPR], *result = w->v[to - FIRST_VGPR], kept[2][LANES];
    u8 origin = t->origin[lanes_of(t, from) ? from : to];
    u32 before[LANES];
    if (addressed && from != i->source[0])
        use_operand(w, i, t, &(NotedOperand){.first = i->source[0], .count = 1});
    memcpy(kept[0], source, sizeof kept[0]);
    memcpy(kept[1], result, sizeof kept[1]);
    for (u32 l = 0; l < LANES; l++) {
        before[l] = planes_of_lane(t, to, l);
        if (!addressed) /* else it may be the address; and every lane that is awake gets a result */
            result[l] = before[l];
        source[l] = planes_of_lane(t, from, l);
    }
    i->run(w, i);
    for (u32 l = 0; l < LANES; l++)
        before[l] = exec_mask(w) >> l & 1 ? result[l] & (ALL_BYTES | BLANK | MIXED) : before[l];
    memcpy(source, kept[0], sizeof kept[0]);
    memcpy(result, kept[1], sizeof kept[1]);
    clear(t, to, ALL_BYTES, ~0ull);
    for (u32 l = 0; l < LANES; l++)
        mark(t, to, before[l], 1ull << l, origin);
}

static u64 mask_bits(const Taint *t, const NotedOperand *o) { return o->count ? lanes_of(t, o->first) : 0; }

/* A number of which some bytes are unset: a mask has no bytes. */
static bool is_number(const Taint *t, const NotedOperand *o)
{
    return o->count == 1 && lanes_of(t, o->first) && !unset_in(t, o->first, WHOLE_ALONE);
}

/* s_and_b64 and its kin: a bit that the other side decides depends on nothing. */
static void combine_masks(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    const char *name = i->row->mnemonic;
    NotedOperand from[2] = {noted_source(i, n, 0), {0}};
    if (i->row->source[1] != TYPE_NONE)
        from[1] = noted_source(i, n, 1);
    if (is_number(t, &from[0]) || is_number(t, &from[1])) {
        compute(w, i, t, n);
        return;
    }
    u64 a = mask_bits(t, &from[0]), b = mask_bits(t, &from[1]), lanes = a | b;
    bool inverted = strstr(name, "n2") || strstr(name, "not1");
    bool is_and = !strncmp(name, "s_and", 5), is_or = !strncmp(name, "s_or", 4);
    if (is_and || is_or) {
        u64 x = mask_source(w, i, 0), y = inverted ? ~mask_source(w, i, 1) : mask_source(w, i, 1);
        u64 a_counts = is_and ? y : ~y, b_counts = is_and ? x : ~x;
        lanes = (a & (a_counts | b)) | (b & (b_counts | a));
    }
    u8 origin = a ? t->origin[from[0].first] : t->origin[from[1].first];
    if (lanes && n->operand[0].first == SGPR_EXEC)
        used(w, i, t, a ? from[0].first : from[1].first);
    overwrite(w, i, t, n);
    clear(t, SOURCE_SCC, ALL_BYTES, ~0ull);
    if (n->operand[0].first == SGPR_EXEC)
        return;
    mark(t, n->operand[0].first, ALL_BYTES, lanes, origin);
    mark(t, SOURCE_SCC, ALL_BYTES, lanes, origin);
}

/* A branch on VCC or SCC. */
static void decide(Wave *w, const Inst *i, Taint *t)
{
    const char *name = i->row->mnemonic;
    u32 reg = strstr(name, "vcc") ? SGPR_VCC : SOURCE_SCC;
    if ((strstr(name, "vcc") || strstr(name, "scc")) && lanes_of(t, reg))
        used(w, i, t, reg);
}

/* ---- what is chosen, moved, used ---- */

/* v_cndmask_b32 d, a, b, mask: b where the mask is set. s_cselect d, a, b: a where SCC is. */
static void choose_one(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    bool vector_result = n->operand[0].first >= FIRST_VGPR;
    NotedOperand mask = vector_result ? noted_source(i, n, 2) : (NotedOperand){.first = SOURCE_SCC, .count = 1};
    u64 second = vector_result ? mask_source(w, i, 2) : w->scc ? 0 : ~0ull;
    u64 open = mask.count ? lanes_of(t, mask.first) & (vector_result ? exec_mask(w) : ~0ull) : 0;
    Carried sum = {.count = n->operand[0].count < 4 ? n->operand[0].count : 4};
    for (u32 k = 0; k < sum.count; k++) {
        for (u32 b = 0; b < 4; b++)
            sum.plane[k][b] = open;
        sum.origin[k] = t->origin[mask.first];
    }
    for (u32 side = 0; side < 2; side++) {
        NotedOperand from = noted_source(i, n, side);
        Carried c = carried_from(w, i, t, &from, vector_result);
        u64 lanes = side ? second : ~second;
        for (u32 k = 0; k < c.count && k < sum.count; k++) {
            for (u32 p = 0; p < PLANES; p++) {
                sum.plane[k][p] |= c.plane[k][p] & lanes;
                if (c.plane[k][p] & lanes)
                    sum.origin[k] = c.origin[k];
            }
        }
    }
    overwrite(w, i, t, n);
    carry_to(t, &n->operand[0], &sum);
}

/* Halves of registers, and what SDWA takes out of them. */
static void choose_bytes(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    NotedOperand mask = noted_source(i, n, 2);
    u32 result = i->sdwa ? ALL_BYTES : result_bytes(i);
    Depends d[4];
    for (u32 b = 0; b < 4; b++)
        d[b] = result >> b & 1 ? choice(w, i, t, n, b, &mask, mask_source(w, i, 2)) : (Depends){0};
    overwrite(w, i, t, n);
    for (u32 b = 0; b < 4; b++)
        mark_result(i, t, &n->operand[0], 1u << b, d[b]);
}

static void read_lane(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    const NotedOperand *from = &n->operand[1], *to = &n->operand[0];
    u64 exec = exec_mask(w);
    bool first = i->row->source[1] == TYPE_NONE;
    u32 lane = first ? (exec ? (u32)__builtin_ctzll(exec) : 0) : scalar32(w, i, 1) % LANES;
    if (n->operands < 2 || from->first < FIRST_VGPR)
        return;
    Carried c = {.count = 1, .origin = {t->origin[from->first]}};
    for (u32 p = 0; p < PLANES; p++)
        c.plane[0][p] = t->plane[from->first][p] >> lane & 1 ? ~0ull : 0;
    overwrite(w, i, t, n);
    carry_to(t, to, &c);
}

static void write_lane(Wave *w, const Inst *i, Taint *t)
{
    u64 lane = 1ull << scalar32(w, i, 1) % LANES;
    u32 from = i->source[0], planes = from < SCALAR_FILE ? planes_of_lane(t, from, 0) : 0;
    clear(t, i->dst, ALL_BYTES, lane);
    mark(t, i->dst, planes, lane, planes ? t->origin[from] : 0);
}

static bool is_stored(const Inst *i, const NotedOperand *o)
{
    return (i->row->family == FAMILY_LDS ? o->first == i->source[1] || o->first == i->source[2]
                                         : o->first == i->source[2]) && o->first != i->source[0];
}

static void use_all(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    for (u32 k = 0; k < n->operands; k++)
        if (n->operand[k].read && !(n->passage == PASS_STORED && is_stored(i, &n->operand[k])))
            use_operand(w, i, t, &n->operand[k]);
    overwrite(w, i, t, n);
}

static bool touches_any(const Taint *t, const Note *n)
{
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; r < n->operand[k].count; r++)
            if (lanes_of(t, n->operand[k].first + r))
                return true;
    return false;
}

static void carry(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    bool two = n->operands == 2 && n->operand[0].result && n->operand[0].count == n->operand[1].count;
    Carried c = {0};
    if (n->operands > 1 && (two || n->operand[0].count == n->operand[1].count))
        c = carried_from(w, i, t, &n->operand[1], n->operand[0].first >= FIRST_VGPR);
    if (n->operand[0].first == SGPR_EXEC && c.plane[0][0] & exec_mask(w)) { /* decides which lanes go on */
        used(w, i, t, n->operand[1].first);
        return;
    }
    overwrite(w, i, t, n);
    carry_to(t, &n->operand[0], &c);
}

void taint_before(Wave *w, const Inst *i, const Note *n)
{
    Taint *t = shadow_of(w)->taint;
    if (!t || !t->live)
        return;
    if (i->row->family == FAMILY_BRANCH)
        decide(w, i, t);
    if (i->row->family == FAMILY_SALU && n->passage != PASS_CHOSEN && n->passage != PASS_CARRIED)
        clear(t, SOURCE_SCC, ALL_BYTES, ~0ull);
    bool scc = n->passage == PASS_CHOSEN && lanes_of(t, SOURCE_SCC);
    if (!scc && !touches_any(t, n))
        return;
    switch ((Passage)n->passage) {
    case PASS_COMPUTED: compute(w, i, t, n); break;
    case PASS_DUAL: compute_dual(w, i, t); break;
    case PASS_MASK: combine_masks(w, i, t, n); break;
    case PASS_EXCHANGED: exchange(w, i, t); break;
    case PASS_CHOSEN:
        is_half_type(i->row->result) || i->sdwa ? choose_bytes(w, i, t, n) : choose_one(w, i, t, n);
        break;
    case PASS_LANE: read_lane(w, i, t, n); break;
    case PASS_TO_LANE: write_lane(w, i, t); break;
    case PASS_CARRIED: i->dpp ? compute(w, i, t, n) : carry(w, i, t, n); break;
    case PASS_LEFT: break;
    case PASS_USED: case PASS_STORED: use_all(w, i, t, n); break;
    }
}
