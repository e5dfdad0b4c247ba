/*
 * What instructions do with uninitialised values: they move, choose, combine or compute, and their results are unset in turn;
 * a few use them.
 */
#include "checks/uninit/propagate.h"

#include "checks/uninit/compute.h"
#include "checks/uninit/registers.h"
#include "machine/lanes.h"

/* Bits of a scalar operand that an instruction reads: all, except for a mask that can only make lanes inactive. */
static bool reads_unset(const Wave *w, const Inst *i, const Uninit *t, const AnnotatedOperand *o, u32 reg)
{
    if (!is_scalar(reg))
        return lanes_of(t, reg) & exec_mask(w);
    bool sleeps = strstr(i->row->mnemonic, "saveexec");
    return t->scalar[reg] & (sleeps ? w->s[SGPR_EXEC + (reg - o->first)] : ~0u);
}

static void use_operand(Wave *w, const Inst *i, Uninit *t, const AnnotatedOperand *o)
{
    for (u32 reg = o->first; reg < (u32)o->first + o->count; reg++)
        if (reads_unset(w, i, t, o, reg))
            uninit_used(w, i, t, reg);
}

/* Loads into one half keep the other half only where registers have no ECC. */
static u32 overwritten(const Wave *w, const Inst *i)
{
    bool one_half = strstr(i->row->mnemonic, "d16") && w->program->generation != GFX9;
    return one_half ? bits_of(moved_bytes(i, 2)) : ~0u;
}

static void overwrite(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].result && r < n->operand[k].count; r++) {
            bool scalar = is_scalar(n->operand[k].first);
            uninit_clear(t, n->operand[k].first + r, scalar ? ~0u : overwritten(w, i), scalar ? ~0ull : exec_mask(w));
        }
}

/* ---- moves ---- */

enum { MOVED = 4 };              /* registers at most */

/* The register that the `k`th of the result is moved from. */
static u32 moved_from(const Inst *i, const Annotation *n, u32 k)
{
    bool halves = !strcmp(i->row->mnemonic, "v_pk_mov_b32");
    return halves ? i->source[k] + (i->op_sel >> k & 1u) : n->operand[1].first + k;
}

/* A constant has no unset bits. */
static void carry(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    const AnnotatedOperand *to = &n->operand[0];
    DefinedBits m[MOVED] = {{{0}, 0, 0, 0, 0}};
    bool registers = n->operands > 1 && n->operand[1].read;
    for (u32 k = 0; registers && k < MOVED && k < to->count; k++)
        if (is_register(moved_from(i, n, k)))
            uninit_take(t, moved_from(i, n, k), &m[k]);
    if (to->first == SGPR_EXEC) { /* decides which lanes continue */
        if (registers && (m[0].bits[0] & w->s[SGPR_EXEC] || m[1].bits[0] & w->s[SGPR_EXEC + 1]))
            use_operand(w, i, t, &n->operand[1]);
        return;
    }
    for (u32 k = 0; k < MOVED && k < to->count; k++)
        uninit_put(t, to->first + k, is_scalar(to->first) ? ~0ull : exec_mask(w), &m[k]);
}

static void read_lane(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    u64 exec = exec_mask(w);
    u32 from = i->source[0], lane = exec ? (u32)__builtin_ctzll(exec) : 0;
    if (i->row->source[1] != TYPE_NONE)
        lane = scalar32(w, i, 1) % wave_lanes(w);
    u32 bits = is_register(from) ? bits_of_lane(t, from, lane) : 0, flags = bits ? flags_of_lane(t, from, lane) : 0;
    uninit_clear(t, n->operand[0].first, ~0u, ~0ull);
    uninit_set(t, n->operand[0].first, ~0ull, bits, flags, bits ? t->origin[from] : 0);
}

static void write_lane(Wave *w, const Inst *i, Uninit *t)
{
    u32 from = i->source[0], number = scalar32(w, i, 1) % wave_lanes(w);
    u32 bits = is_register(from) ? bits_of_lane(t, from, number) : 0, flags = bits ? flags_of_lane(t, from, number) : 0;
    uninit_clear(t, i->dst, ~0u, 1ull << number);
    uninit_set(t, i->dst, 1ull << number, bits, flags, bits ? t->origin[from] : 0);
}

/* Where values move between lanes, unset bits move as well: the instruction runs on these. An address is not moved. */
typedef struct { u32 from, to, address; bool addressed; } Exchange;

static void run_on_bits(Wave *w, const Inst *i, Uninit *t, Exchange e)
{
    Wave bits_known = *w;
    u32 kept[LANES];
    bits_known.v = t->vector;
    if (!e.addressed) {
        i->run(&bits_known, i);
        return;
    }
    u32 *row = t->vector[e.address - FIRST_VGPR];
    memcpy(kept, row, sizeof kept);
    memcpy(row, w->v[e.address - FIRST_VGPR], sizeof kept);
    i->run(&bits_known, i);
    put_masked(row, kept, e.address == e.to ? ~exec_mask(w) : ~0ull);
}

/* The flags of both registers are put in place of their bits, moved with them, and taken out again. */
static void exchange_flags(Wave *w, const Inst *i, Uninit *t, Exchange e)
{
    u32 regs[2] = {e.from, e.to}, kept[2][LANES];
    for (u32 k = 0; k < 2; k++)
        memcpy(kept[k], t->vector[regs[k] - FIRST_VGPR], sizeof kept[k]);
    for (u32 k = 0; k < 2; k++)
        for (u32 l = 0; l < LANES; l++)
            t->vector[regs[k] - FIRST_VGPR][l] = flags_of_lane(t, regs[k], l);
    run_on_bits(w, i, t, e);
    for (u32 k = 0; k < 2; k++) {
        u32 *row = t->vector[regs[k] - FIRST_VGPR];
        t->undefined[regs[k]] = t->partly_defined[regs[k]] = t->placed[regs[k]] = 0;
        for (u32 l = 0; l < LANES; l++) {
            t->undefined[regs[k]] |= (u64)((row[l] & UNDEFINED) != 0) << l;
            t->partly_defined[regs[k]] |= (u64)((row[l] & PARTLY_DEFINED) != 0) << l;
        }
    }
    for (u32 k = 0; k < 2; k++)
        memcpy(t->vector[regs[k] - FIRST_VGPR], kept[k], sizeof kept[k]);
}

static void exchange(Wave *w, const Inst *i, Uninit *t)
{
    bool addressed = i->row->family == FAMILY_LDS && i->source[1] >= FIRST_VGPR && i->source[1] < REGISTER_NUMBERS;
    Exchange e = {.from = i->source[addressed ? 1 : 0], .to = i->dst, .address = i->source[0], .addressed = addressed};
    bool vectors = !is_scalar(e.from) && !is_scalar(e.to) && is_register(e.from) && is_register(e.to);
    if (!vectors || (addressed && (is_scalar(e.address) || !is_register(e.address))))
        return;
    if (addressed)
        use_operand(w, i, t, &(AnnotatedOperand){.first = (u16)e.address, .count = 1});
    if (addressed && e.address == e.from) { /* nothing unset is left in it */
        uninit_clear(t, e.to, ~0u, exec_mask(w));
        return;
    }
    u8 origin = t->origin[lanes_of(t, e.from) ? e.from : e.to];
    exchange_flags(w, i, t, e);
    run_on_bits(w, i, t, e);
    t->origin[e.from] = t->origin[e.to] = origin;
    uninit_settle(t, e.from);
    uninit_settle(t, e.to);
}

/* s_cselect d, a, b: a where SCC is set. */
static void select_scalar(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    u32 from = i->source[w->scc ? 0 : 1];
    bool open = lanes_of(t, SOURCE_SCC);
    for (u32 k = 0; k < n->operand[0].count; k++) {
        DefinedBits m = {{0}, 0, 0, 0, 0};
        if (is_register(from))
            uninit_take(t, from + k, &m);
        uninit_clear(t, n->operand[0].first + k, ~0u, ~0ull);
        if (open)
            uninit_set(t, n->operand[0].first + k, ~0ull, ~0u, 0, t->origin[SOURCE_SCC]);
        else
            uninit_put(t, n->operand[0].first + k, ~0ull, &m);
    }
}

/* ---- uses ---- */

/* A branch on SCC or on whether VCC is zero. VCC is not zero if a defined bit of it is set. */
static void decide(Wave *w, const Inst *i, Uninit *t)
{
    const char *name = i->row->mnemonic;
    if (strstr(name, "scc") && lanes_of(t, SOURCE_SCC))
        uninit_used(w, i, t, SOURCE_SCC);
    u64 unset = strstr(name, "vcc") ? uninit_mask_bits(w, t, SGPR_VCC) : 0;
    if (unset && !(lane_bits(w, SGPR_VCC) & ~unset))
        uninit_used(w, i, t, lanes_of(t, SGPR_VCC) ? SGPR_VCC : SGPR_VCC + 1);
}

static bool is_stored(const Inst *i, const AnnotatedOperand *o)
{
    return (i->row->family == FAMILY_LDS ? o->first == i->source[1] || o->first == i->source[2]
                                         : o->first == i->source[2]) && o->first != i->source[0];
}

static void use_all(Wave *w, const Inst *i, Uninit *t, const Annotation *n)
{
    for (u32 k = 0; k < n->operands; k++)
        if (n->operand[k].read && !(n->passage == PASS_STORED && is_stored(i, &n->operand[k])))
            use_operand(w, i, t, &n->operand[k]);
    overwrite(w, i, t, n);
}

static bool touches_any(const Uninit *t, const Annotation *n)
{
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; r < n->operand[k].count; r++)
            if (lanes_of(t, n->operand[k].first + r))
                return true;
    return false;
}

void uninit_before(Wave *w, const Inst *i, const Annotation *n)
{
    Uninit *t = shadow_of(w)->uninit;
    if (!t || !t->live)
        return;
    if (i->row->family == FAMILY_BRANCH)
        decide(w, i, t);
    bool scalar = i->row->family == FAMILY_SALU;
    if (!touches_any(t, n) && !(scalar && lanes_of(t, SOURCE_SCC)))
        return;
    switch ((Passage)n->passage) {
    case PASS_COMPUTED: case PASS_MASK: scalar ? uninit_compute_scalar(w, i, t, n) : uninit_compute(w, i, t, n); break;
    case PASS_DUAL: uninit_compute_dual(w, i, t); break;
    case PASS_EXCHANGED: exchange(w, i, t); break;
    case PASS_CHOSEN: scalar ? select_scalar(w, i, t, n) : uninit_compute(w, i, t, n); break;
    case PASS_LANE: read_lane(w, i, t, n); break;
    case PASS_TO_LANE: write_lane(w, i, t); break;
    case PASS_CARRIED: i->dpp || i->sdwa ? uninit_compute(w, i, t, n) : carry(w, i, t, n); break;
    case PASS_LEFT: break;
    case PASS_USED: case PASS_STORED:
        use_all(w, i, t, n);
        if (scalar)
            uninit_clear(t, SOURCE_SCC, ~0u, ~0ull);
        break;
    }
}
