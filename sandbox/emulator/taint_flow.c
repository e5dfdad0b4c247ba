/*
 * What instructions make of unset values: they move, choose, combine or compute, lane by lane and by halves of registers,
 * and what comes of them is unset in turn; a few use them.
 */
#include "access.h"
#include "taint.h"

/* Lanes of an operand that an instruction reads: all of a scalar, but where it is a mask that can only send lanes to
 * sleep. */
static u64 reads(const Wave *w, const Inst *i, u32 reg)
{
    return reg < FIRST_VGPR && !strstr(i->row->mnemonic, "saveexec") ? ~0ull : exec_mask(w);
}

static void use_operand(Wave *w, const Inst *i, Taint *t, const NotedOperand *o, bool parts_as_well)
{
    for (u32 reg = o->first; reg < o->first + o->count; reg++)
        if ((unset_in(t, reg, BOTH) | (parts_as_well ? t->part[reg] : 0)) & reads(w, i, reg))
            used(w, i, t, reg);
}

/* The result's registers take over what the source's hold, one for one. A scalar is unset in all its bits, unless it is
 * a mask of lanes. */
typedef struct { u64 whole[4], half[2][4], part[4]; u8 origin[4]; u32 count; } Carried;

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
        c.whole[k] = spread_to(to_vector, reg, t->whole[reg]) & lanes;
        c.part[k] = spread_to(to_vector, reg, t->part[reg]) & lanes;
        c.half[0][k] = t->half[0][reg] & lanes;
        c.half[1][k] = t->half[1][reg] & lanes;
        c.origin[k] = t->origin[reg];
    }
    return c;
}

static void carry_to(Taint *t, const NotedOperand *result, const Carried *c)
{
    for (u32 k = 0; k < c->count && k < result->count; k++) {
        mark(t, result->first + k, c->whole[k], c->part[k], c->origin[k]);
        mark_halves(t, result->first + k, LOWER, c->half[0][k], c->origin[k]);
        mark_halves(t, result->first + k, UPPER, c->half[1][k], c->origin[k]);
    }
}

static bool is_half_type(u8 type)
{
    return type == TYPE_U16 || type == TYPE_I16 || type == TYPE_F16 || type == TYPE_BF16;
}

static u32 result_half(const Inst *i)
{
    if (i->row->result == TYPE_NONE || !is_half_type(i->row->result))
        return BOTH;
    return i->half & HALF_RESULT_UPPER ? UPPER : LOWER;
}

static void overwrite(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    u64 lanes = i->dpp ? write_mask(w, i) : exec_mask(w);
    u32 halves = i->half & HALF_RESULT_ALONE ? result_half(i) : i->row->family == FAMILY_VALU ? BOTH : moved_halves(i, 4);
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].result && r < n->operand[k].count; r++) {
            bool scalar = n->operand[k].first < FIRST_VGPR;
            clear_halves(t, n->operand[k].first + r, scalar ? BOTH : halves, scalar ? ~0ull : lanes);
        }
}

/* ---- what is computed ---- */

/* Lanes whose result depends on an unset value, and where that was loaded. */
typedef struct { u64 lanes; u8 origin; } Depends;

static bool named(const Inst *i, const char *with) { return !strncmp(i->row->mnemonic, with, strlen(with)); }

static bool has_constant(const Inst *i, u32 k, u32 x) { return i->source[k] == SOURCE_CONSTANT && (u32)i->constant[k] == x; }

/* Takes bits of a dword out or puts them in: the rest may be padding. */
static bool takes_parts(const Inst *i)
{
    static const char *const names[] = {"v_mov_b16", "v_cndmask_b16", "v_and", "v_or_b", "v_or3", "v_lshrrev", "v_lshlrev",
                                        "v_lshl_or", "v_bfe", "v_bfi", "v_perm_b32", "v_alignb", "v_cvt_f32_ubyte",
                                        "s_lshr", "s_bfe"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (named(i, names[k]))
            return true;
    return false;
}

/* Which halves of source `k` one half of the result depends on. Where the parts of a dword are taken in a way that is
 * not known here, the unset ones may be padding. */
static u32 halves_read(const Inst *i, u32 k, u32 result)
{
    u8 type = i->row->source[k];
    if (named(i, "v_pack_b32"))
        return (result == UPPER) != (k == 1) ? NO_HALF : i->half >> k & 1 ? UPPER : LOWER;
    if (type == TYPE_PKF16 || type == TYPE_PKU16)
        return (result == UPPER ? i->op_sel_hi : i->op_sel) >> k & 1 ? UPPER : LOWER;
    if (i->sdwa && k < 2 && i->select[k] != SELECT_DWORD)
        return i->select[k] == SELECT_WORD_1 || i->select[k] == SELECT_BYTE_2 || i->select[k] == SELECT_BYTE_3
                   ? UPPER : LOWER;
    if (is_half_type(type))
        return i->half >> k & 1 ? UPPER : LOWER;
    if (named(i, "v_lshrrev_b32") && has_constant(i, 0, 16))
        return result == LOWER ? UPPER : NO_HALF;
    if (named(i, "v_lshlrev_b32") && has_constant(i, 0, 16))
        return result == UPPER ? LOWER : NO_HALF;
    if (named(i, "v_and_b32") && (has_constant(i, 1 - k % 2, 0xffff) || has_constant(i, 1 - k % 2, 0xffff0000)))
        return has_constant(i, 1 - k % 2, 0xffff) == (result == LOWER) ? result : NO_HALF;
    if (named(i, "v_and_b32") || named(i, "v_or_b32") || named(i, "v_xor_b32") || named(i, "v_mov_b32") ||
        named(i, "v_cndmask_b32"))
        return result;
    return takes_parts(i) ? WHOLE_ALONE : BOTH;
}

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
        clear(t, to.first + r, exec_mask(w));
    carry_to(t, &place, &c);
    return true;
}

static void depend(const Wave *w, const Inst *i, const Taint *t, const NotedOperand *o, u32 halves, bool mask, Depends *d)
{
    bool parts = halves && halves != WHOLE_ALONE && !takes_parts(i);
    for (u32 reg = o->first; reg < (u32)o->first + o->count; reg++) {
        u64 lanes = halves == WHOLE_ALONE ? t->whole[reg] : halves ? unset_in(t, reg, halves) : 0;
        lanes |= parts ? t->part[reg] : 0;
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

/* What one half of the result depends on, or both. */
static Depends dependence(const Wave *w, const Inst *i, const Taint *t, const Note *n, u32 half)
{
    Depends d = {0};
    bool carry = takes_carry(i);
    for (u32 k = 0; k < SOURCES && i->row->source[k] != TYPE_NONE; k++) {
        NotedOperand o = noted_source(i, n, k);
        u32 halves = half == BOTH ? halves_read(i, k, LOWER) | halves_read(i, k, UPPER) : halves_read(i, k, half);
        depend(w, i, t, &o, halves & WHOLE_ALONE ? WHOLE_ALONE : halves, carry && k == 2, &d);
    }
    return d;
}

/* Carries and results of compares are masks of lanes: the first register has all of them here. */
static void mark_result(Taint *t, const NotedOperand *o, u32 halves, Depends d)
{
    for (u32 r = 0; r < (o->first < FIRST_VGPR ? 1u : o->count); r++)
        mark_halves(t, o->first + r, o->first < FIRST_VGPR ? BOTH : halves, d.lanes, d.origin);
}

static void note_use(const Wave *w, const Inst *i, Taint *t, Depends d)
{
    Origin *from = &t->origins.known[d.origin];
    if (d.lanes && !from->use.at)
        from->use = place_in_code(w, i);
}

static void compute(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    if (moves_word(w, i, t, n))
        return;
    u32 result = result_half(i);
    bool by_halves = result == BOTH && n->operand[0].first >= FIRST_VGPR && n->operand[0].count == 1;
    u64 writes = i->dpp ? write_mask(w, i) : ~0ull;
    Depends d[2] = {dependence(w, i, t, n, by_halves ? LOWER : BOTH), {0}};
    if (by_halves)
        d[1] = dependence(w, i, t, n, UPPER);
    overwrite(w, i, t, n);
    for (u32 h = 0; h < 2; h++) {
        d[h].lanes &= writes;
        if (n->passage == PASS_COMPUTED)
            note_use(w, i, t, d[h]);
        for (u32 k = 0; d[h].lanes && k < n->operands; k++)
            if (n->operand[k].result)
                mark_result(t, &n->operand[k], !by_halves ? result : h ? UPPER : LOWER, d[h]);
    }
}

/* Likewise of v_cndmask: one of two sources, as the mask says. */
static Depends choice(const Wave *w, const Inst *i, const Taint *t, const Note *n, u32 half, const NotedOperand *mask,
                      u64 second)
{
    Depends d = {0};
    depend(w, i, t, mask, BOTH, true, &d);
    for (u32 side = 0; side < 2; side++) {
        Depends one = {0};
        NotedOperand from = noted_source(i, n, side);
        depend(w, i, t, &from, halves_read(i, side, half), false, &one);
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
    Depends d[2][2];
    for (u32 k = 0; k < 2; k++)
        for (u32 h = 0; h < 2; h++)
            d[k][h] = strstr(op[k].row->mnemonic, "cndmask")
                          ? choice(w, &op[k], t, NULL, h ? UPPER : LOWER, &vcc, lane_bits(w, SGPR_VCC))
                          : dependence(w, &op[k], t, NULL, h ? UPPER : LOWER);
    for (u32 k = 0; k < 2; k++) {
        clear(t, op[k].dst, exec_mask(w));
        for (u32 h = 0; h < 2; h++) {
            if (!named(&op[k], "v_mov") && !named(&op[k], "v_cndmask"))
                note_use(w, i, t, d[k][h]);
            mark_halves(t, op[k].dst, h ? UPPER : LOWER, d[k][h].lanes, d[k][h].origin);
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
    u64 before = lanes_of(t, to), sent = lanes_of(t, from), lanes = 0;
    u8 origin = t->origin[sent ? from : to];
    if (addressed && from != i->source[0])
        use_operand(w, i, t, &(NotedOperand){.first = i->source[0], .count = 1}, true);
    memcpy(kept[0], source, sizeof kept[0]);
    memcpy(kept[1], result, sizeof kept[1]);
    for (u32 l = 0; l < LANES; l++) {
        if (!addressed) /* else it may be the address; and every lane that is awake gets a result */
            result[l] = before >> l & 1;
        source[l] = sent >> l & 1;
    }
    i->run(w, i);
    for (u32 l = 0; l < LANES; l++)
        lanes |= (u64)(result[l] & 1) << l;
    lanes = (lanes & exec_mask(w)) | (before & ~exec_mask(w));
    memcpy(source, kept[0], sizeof kept[0]);
    memcpy(result, kept[1], sizeof kept[1]);
    clear(t, to, ~0ull);
    mark(t, to, lanes, 0, origin);
}

static u64 mask_bits(const Taint *t, const NotedOperand *o) { return o->count ? t->whole[o->first] : 0; }

/* s_and_b64 and its kin: a bit that the other side decides depends on nothing. */
static void combine_masks(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    const char *name = i->row->mnemonic;
    NotedOperand from[2] = {noted_source(i, n, 0), {0}};
    if (i->row->source[1] != TYPE_NONE)
        from[1] = noted_source(i, n, 1);
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
    clear(t, SOURCE_SCC, ~0ull);
    if (n->operand[0].first == SGPR_EXEC)
        return;
    mark(t, n->operand[0].first, lanes, 0, origin);
    mark(t, SOURCE_SCC, lanes, 0, origin);
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
        sum.whole[k] = open;
        sum.origin[k] = t->origin[mask.first];
    }
    for (u32 side = 0; side < 2; side++) {
        NotedOperand from = noted_source(i, n, side);
        Carried c = carried_from(w, i, t, &from, vector_result);
        u64 lanes = side ? second : ~second;
        for (u32 k = 0; k < c.count && k < sum.count; k++) {
            sum.whole[k] |= c.whole[k] & lanes;
            sum.part[k] |= c.part[k] & lanes;
            sum.half[0][k] |= c.half[0][k] & lanes;
            sum.half[1][k] |= c.half[1][k] & lanes;
            if ((c.whole[k] | c.part[k] | c.half[0][k] | c.half[1][k]) & lanes)
                sum.origin[k] = c.origin[k];
        }
    }
    overwrite(w, i, t, n);
    carry_to(t, &n->operand[0], &sum);
}

static void choose_half(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    NotedOperand mask = noted_source(i, n, 2);
    Depends d = choice(w, i, t, n, LOWER, &mask, mask_source(w, i, 2));
    overwrite(w, i, t, n);
    mark_result(t, &n->operand[0], result_half(i), d);
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
    c.whole[0] = t->whole[from->first] >> lane & 1 ? ~0ull : 0;
    c.part[0] = t->part[from->first] >> lane & 1 ? ~0ull : 0;
    overwrite(w, i, t, n);
    carry_to(t, to, &c);
}

static void write_lane(Wave *w, const Inst *i, Taint *t)
{
    u64 lane = 1ull << scalar32(w, i, 1) % LANES;
    bool unset = i->source[0] < SCALAR_FILE && lanes_of(t, i->source[0]);
    clear(t, i->dst, lane);
    if (unset)
        mark(t, i->dst, lane, 0, t->origin[i->source[0]]);
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
            use_operand(w, i, t, &n->operand[k], true);
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
    if (n->operand[0].first == SGPR_EXEC && c.whole[0] & exec_mask(w)) { /* decides which lanes go on */
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
        clear(t, SOURCE_SCC, ~0ull);
    bool scc = n->passage == PASS_CHOSEN && lanes_of(t, SOURCE_SCC);
    if (!scc && !touches_any(t, n))
        return;
    switch ((Passage)n->passage) {
    case PASS_COMPUTED: compute(w, i, t, n); break;
    case PASS_DUAL: compute_dual(w, i, t); break;
    case PASS_MASK: combine_masks(w, i, t, n); break;
    case PASS_EXCHANGED: exchange(w, i, t); break;
    case PASS_CHOSEN: is_half_type(i->row->result) ? choose_half(w, i, t, n) : choose_one(w, i, t, n); break;
    case PASS_LANE: read_lane(w, i, t, n); break;
    case PASS_TO_LANE: write_lane(w, i, t); break;
    case PASS_CARRIED: i->dpp ? compute(w, i, t, n) : carry(w, i, t, n); break;
    case PASS_USED: case PASS_STORED: use_all(w, i, t, n); break;
    }
}
