/*
 * Unset values on their way through registers.
 *
 * That a load brings unset bytes along is no mistake: vectors have spare elements, structures padding, and compilers
 * load early what only some lanes need. It is one as soon as something depends on such a value: arithmetic, a compare,
 * an address, a store to memory that others read. Moves, selects that leave it out and spills to scratch pass it on.
 * What was told once counts as set, so that one mistake is one finding.
 */
#include <stdlib.h>

#include "access.h"
#include "shadow.h"

static void mark(Taint *t, u32 reg, u64 whole, u64 part, u8 origin)
{
    bool before = t->whole[reg] | t->part[reg];
    t->whole[reg] |= whole;
    t->part[reg] |= part;
    if (whole | part)
        t->origin[reg] = origin;
    t->live += !before && (whole | part);
}

static void clear(Taint *t, u32 reg, u64 lanes)
{
    bool before = t->whole[reg] | t->part[reg];
    t->whole[reg] &= ~lanes;
    t->part[reg] &= ~lanes;
    t->live -= before && !(t->whole[reg] | t->part[reg]);
}

static u64 lanes_of(const Taint *t, u32 reg) { return t->whole[reg] | t->part[reg]; }

static Taint *taint_of(Wave *w)
{
    WaveShadow *s = shadow_of(w);
    if (!s->taint)
        s->taint = calloc(1, sizeof *s->taint);
    return s->taint;
}

void taint_destroy(Taint *t)
{
    if (t)
        free(t->scratch);
    free(t);
}

bool taint_pending(const Wave *w)
{
    const Taint *t = shadow_of(w)->taint;
    return t && (t->live || t->spilled);
}

static u8 origin_for(Taint *t, const Fault *load)
{
    for (u32 k = 0; k < t->origin_count; k++)
        if (t->origins[k].load.pc == load->pc && t->origins[k].load.kind == load->kind)
            return (u8)k;
    u32 k = t->origin_count < MAX_ORIGINS ? t->origin_count++ : MAX_ORIGINS - 1;
    t->origins[k].load = *load;
    return (u8)k;
}

void taint_load(Wave *w, const Inst *i, const Fault *load, u16 reg, u64 lane_bit, bool whole)
{
    Taint *t = taint_of(w);
    (void)i;
    if (!t || reg >= REGISTER_NUMBERS)
        return;
    mark(t, reg, whole ? lane_bit : 0, whole ? 0 : lane_bit, origin_for(t, load));
    if (w->stop == STOP_NONE)
        w->stop = STOP_MODE; /* to the loop that looks at every instruction */
}

/* Something depends on these lanes of a register: tell where they were loaded. */
static void used(Wave *w, const Inst *i, Taint *t, u32 reg)
{
    report_finding(w, &t->origins[t->origin[reg]].load, i);
    clear(t, reg, ~0ull);
}

/* Lanes of an operand that an instruction reads: a scalar has one. */
static u64 reads(const Wave *w, u32 reg) { return reg < FIRST_VGPR ? 1 : exec_mask(w); }

static void use_operand(Wave *w, const Inst *i, Taint *t, const NotedOperand *o, bool parts_as_well)
{
    for (u32 reg = o->first; reg < o->first + o->count; reg++)
        if ((t->whole[reg] | (parts_as_well ? t->part[reg] : 0)) & reads(w, reg))
            used(w, i, t, reg);
}

/* The result's registers take over what the source's hold, one for one. */
typedef struct { u64 whole[4], part[4]; u8 origin[4]; u32 count; } Carried;

static Carried carried_from(const Wave *w, const Taint *t, const NotedOperand *o)
{
    Carried c = {.count = o->count < 4 ? o->count : 4};
    bool scalar = o->first < FIRST_VGPR;
    for (u32 k = 0; k < c.count; k++) {
        u64 lanes = reads(w, o->first + k);
        c.whole[k] = scalar && (t->whole[o->first + k] & 1) ? exec_mask(w) : t->whole[o->first + k] & lanes;
        c.part[k] = scalar && (t->part[o->first + k] & 1) ? exec_mask(w) : t->part[o->first + k] & lanes;
        c.origin[k] = t->origin[o->first + k];
    }
    return c;
}

static void carry_to(Taint *t, const NotedOperand *result, const Carried *c)
{
    bool scalar = result->first < FIRST_VGPR;
    for (u32 k = 0; k < c->count && k < result->count; k++)
        mark(t, result->first + k, scalar ? c->whole[k] != 0 : c->whole[k], scalar ? c->part[k] != 0 : c->part[k],
             c->origin[k]);
}

static void overwrite(Wave *w, Taint *t, const Note *n)
{
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].result && r < n->operand[k].count; r++)
            clear(t, n->operand[k].first + r, reads(w, n->operand[k].first + r));
}

/* v_cndmask_b32 d, a, b, mask: b where the mask is set. s_cselect d, a, b: a where SCC is. */
static void choose_one(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    NotedOperand from[2] = {0};
    bool vector_result = n->operand[0].first >= FIRST_VGPR;
    u32 next = 0; /* constants are not among the noted operands */
    for (u32 k = 0; k < 2; k++)
        if (i->source[k] < SCALAR_FILE || i->source[k] >= FIRST_VGPR)
            while (next < n->operands && !from[k].count)
                if (n->operand[next++].first == i->source[k] && !n->operand[next - 1].result)
                    from[k] = n->operand[next - 1];
    u64 second = vector_result ? scalar64(w, i, 2) : w->scc ? 0 : ~0ull;
    Carried sum = {.count = n->operand[0].count < 4 ? n->operand[0].count : 4};
    for (u32 side = 0; side < 2; side++) {
        Carried c = carried_from(w, t, &from[side]);
        u64 lanes = side ? second : ~second;
        for (u32 k = 0; k < c.count && k < sum.count; k++) {
            sum.whole[k] |= c.whole[k] & lanes;
            sum.part[k] |= c.part[k] & lanes;
            if ((c.whole[k] | c.part[k]) & lanes)
                sum.origin[k] = c.origin[k];
        }
    }
    overwrite(w, t, n);
    carry_to(t, &n->operand[0], &sum);
}

static void move_lane(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    const NotedOperand *from = &n->operand[1], *to = &n->operand[0];
    u64 exec = exec_mask(w);
    bool first = i->row->source[1] == TYPE_NONE;
    u32 lane = first ? (exec ? (u32)__builtin_ctzll(exec) : 0) : scalar32(w, i, 1) % LANES;
    if (n->operands < 2 || from->first < FIRST_VGPR)
        return;
    Carried c = {.count = 1, .origin = {t->origin[from->first]}};
    c.whole[0] = t->whole[from->first] >> lane & 1;
    c.part[0] = t->part[from->first] >> lane & 1;
    overwrite(w, t, n);
    carry_to(t, to, &c);
}

static bool is_stored(const Inst *i, const NotedOperand *o)
{
    return (i->row->family == FAMILY_LDS ? o->first == i->source[1] || o->first == i->source[2]
                                         : o->first == i->source[2]) && o->first != i->source[0];
}

static void use_all(Wave *w, const Inst *i, Taint *t, const Note *n)
{
    bool parts = n->passage != PASS_BITS;
    for (u32 k = 0; k < n->operands; k++)
        if (n->operand[k].read && !(n->passage == PASS_STORED && is_stored(i, &n->operand[k])))
            use_operand(w, i, t, &n->operand[k], parts);
    overwrite(w, t, n);
}

void taint_before(Wave *w, const Inst *i, const Note *n)
{
    Taint *t = shadow_of(w)->taint;
    if (!t || !t->live)
        return;
    bool any = false;
    for (u32 k = 0; k < n->operands && !any; k++)
        for (u32 r = 0; r < n->operand[k].count; r++)
            any |= lanes_of(t, n->operand[k].first + r) != 0;
    if (!any)
        return;
    bool two = n->operands == 2 && n->operand[0].result && n->operand[0].count == n->operand[1].count;
    if (n->passage == PASS_CHOSEN) {
        choose_one(w, i, t, n);
    } else if (n->passage == PASS_LANE) {
        move_lane(w, i, t, n);
    } else if (n->passage == PASS_CARRIED && n->operands > 1 && (two || n->operand[0].count == n->operand[1].count)) {
        Carried c = carried_from(w, t, &n->operand[1]);
        overwrite(w, t, n);
        carry_to(t, &n->operand[0], &c);
    } else if (n->passage == PASS_CARRIED) {
        overwrite(w, t, n);
    } else {
        use_all(w, i, t, n);
    }
}

void taint_stored(Wave *w, const Inst *i, u16 reg, u32 dwords, u64 lanes)
{
    Taint *t = shadow_of(w)->taint;
    for (u32 k = 0; t && t->live && k < dwords && reg + k < REGISTER_NUMBERS; k++)
        if (t->whole[reg + k] & lanes)
            used(w, i, t, reg + k);
}

/* ---- scratch ---- */

static u8 *scratch_marks(Wave *w, Taint *t)
{
    if (!t->scratch) {
        t->scratch_dwords = w->scratch_bytes / 4;
        t->scratch = calloc(LANES, t->scratch_dwords ? t->scratch_dwords : 1);
    }
    return t->scratch;
}

static void spill(Wave *w, const Inst *i, Taint *t, const u32 *offset, u64 active, u32 bytes)
{
    u16 reg = i->source[2];
    u32 dwords = (bytes + 3) / 4;
    for (u32 k = 0; reg < REGISTER_NUMBERS && k < dwords && reg + k < REGISTER_NUMBERS; k++) {
        u64 lanes = t->whole[reg + k] & active;
        if (!lanes && !t->spilled)
            continue;
        u8 *marks = scratch_marks(w, t);
        for (u32 l = 0; marks && l < LANES; l++) {
            u64 at = offset[l] / 4 + k;
            if (active >> l & 1 && at < t->scratch_dwords)
                marks[l * t->scratch_dwords + at] = lanes >> l & 1 ? (u8)(t->origin[reg + k] + 1) : 0;
        }
        t->spilled |= lanes != 0;
    }
}

void taint_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    Taint *t = shadow_of(w)->taint;
    if (!t || !(t->live || t->spilled))
        return;
    if (store) {
        spill(w, i, t, offset, active, bytes);
        return;
    }
    for (u32 k = 0; t->spilled && i->dst + k < REGISTER_NUMBERS && k < (bytes + 3) / 4; k++)
        for (u32 l = 0; l < LANES; l++) {
            u64 at = offset[l] / 4 + k;
            u8 origin = active >> l & 1 && at < t->scratch_dwords ? t->scratch[l * t->scratch_dwords + at] : 0;
            if (origin)
                mark(t, i->dst + k, 1ull << l, 0, (u8)(origin - 1));
        }
}
