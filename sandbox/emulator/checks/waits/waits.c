/*
 * Reads and writes of a register between a load into it and the wait for that load. The emulated load is done at once, so
 * that the value is right here; on hardware it is whatever the register held before.
 */
#include "checks/waits/waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "checks/races/happens_before.h"
#include "checks/waits/outstanding.h"

static Outstanding *outstanding_of(Wave *w)
{
    WaveShadow *s = shadow_of(w);
    if (!s->outstanding)
        s->outstanding = calloc(1, sizeof *s->outstanding);
    return s->outstanding;
}

void waits_destroy(WaveShadow *s)
{
    free(s->outstanding);
    s->outstanding = NULL;
}

static void name_registers(const Operation *op, char *text, size_t bytes)
{
    bool vector = op->first >= FIRST_VGPR, accumulator = op->first >= FIRST_AGPR;
    char file = accumulator ? 'a' : vector ? 'v' : 's';
    u32 first = op->first - (accumulator ? FIRST_AGPR : vector ? FIRST_VGPR : 0);
    if (op->first == SGPR_VCC)
        snprintf(text, bytes, "vcc");
    else if (op->count == 1)
        snprintf(text, bytes, "%c%u", file, first);
    else
        snprintf(text, bytes, "%c[%u:%u]", file, first, first + op->count - 1);
}

static void tell_use(const Wave *w, const Inst *i, Finding *f)
{
    Place here = findings_code_place(w, i);
    f->use = here.at;
    memcpy(f->use_callers, here.callers, sizeof f->use_callers);
}

static void report(Wave *w, const Inst *i, const Operation *op, bool reads)
{
    Finding *f = findings_at(w->worker, OUTCOME_MISSING_WAIT, op->place.at, 0);
    u64 lanes = op->lanes & exec_mask(w);
    if (!f || f->count > 1)
        return;
    u32 lane = op->first >= FIRST_VGPR && lanes ? (u32)__builtin_ctzll(lanes) : 0;
    f->fault = findings_place(w, &w->program->code[op->inst], OUTCOME_MISSING_WAIT, op->count ? SPACE_GLOBAL : SPACE_LDS, lane, 0, 0, !reads);
    memcpy(f->fault.callers, op->place.callers, sizeof f->fault.callers);
    tell_use(w, i, f);
    if (op->count)
        name_registers(op, f->registers, sizeof f->registers);
    outstanding_remedy(w->program, op, f->remedy, sizeof f->remedy);
}

/* Where the lanes of a flat access go. */
static u32 where_it_goes(const Wave *w, const Inst *i)
{
    u64 lanes = exec_mask(w), shared = 0;
    if (i->row->family != FAMILY_FLAT || i->source[0] < FIRST_VGPR || i->source[0] + 1 >= REGISTER_NUMBERS)
        return GOES_TO_MEMORY;
    for (u32 l = 0; l < LANES; l++)
        shared |= (u64)(w->v[i->source[0] - FIRST_VGPR + 1][l] == SHARED_APERTURE) << l;
    return (lanes & ~shared ? GOES_TO_MEMORY : 0) | (lanes & shared ? GOES_TO_LDS : 0);
}

/* The first epoch of those whose stores to LDS may still be on their way, for those who come from the barrier. */
static void come_to_barrier(Wave *w, const Outstanding *o)
{
    HappensBefore *h = &shadow_of(w)->happens_before;
    memset(h->landing, 0, sizeof h->landing);
    for (u32 k = 0; k < o->count; k++) {
        u32 *first = &h->landing[o->of[k].counter == COUNTS_LOADS ? LANDS_MOVED : LANDS_STORED];
        if (!o->of[k].count && (!*first || o->of[k].epoch < *first))
            *first = o->of[k].epoch;
    }
}

static void start(Wave *w, Outstanding *o, const Annotation *n, const Inst *i)
{
    struct Races *races = w->worker->checks->races;
    u32 added = outstanding_start(o, w->program, n, (u32)(i - w->program->code), exec_mask(w), where_it_goes(w, i));
    for (u32 k = o->count - added; k < o->count; k++) {
        bool stores = races && !o->of[k].count;
        if (stores)
            happens_before_new_epoch(races, w);
        o->of[k].epoch = stores ? shadow_of(w)->happens_before.stamp : 0;
        o->of[k].place = findings_code_place(w, i);
    }
}

void waits_before(Wave *w, const Inst *i)
{
    Outstanding *o = outstanding_of(w);
    const Program *p = w->program;
    u32 at = (u32)(i - p->code);
    const Annotation *n = &w->worker->checks->annotations[at];
    bool reads;
    if (!o || outstanding_wait(o, p, i))
        return;
    for (const Operation *op; (op = outstanding_conflict(o, p, n, i, exec_mask(w), &reads));) {
        report(w, i, op, reads);
        outstanding_forget(o, op->inst);
    }
    if (outstanding_passes_barrier(i))
        come_to_barrier(w, o);
    start(w, o, n, i);
}

/* ---- what waves stored to LDS ---- */

static Landing landing_of(const Wave *w, const Entry *e)
{
    return outstanding_moves_to_lds(&w->program->code[e->inst]) ? LANDS_MOVED : LANDS_STORED;
}

static bool may_be_on_its_way(const Wave *w, const Entry *e, u32 *index)
{
    const Races *r = w->worker->checks->races;
    const HappensBefore *h = &shadow_of(w)->happens_before;
    *index = e->wave - (u32)w->shadow->number * r->waves_per_group;
    u32 unlanded = *index < MAX_GROUP_WAVES ? h->unlanded[landing_of(w, e)][*index] : 0;
    bool of_group = e->time > w->shadow->began && *index < w->shadow->wave_count && *index != w->index;
    return of_group && e->how & BY_STORE && unlanded && e->time >= unlanded && e->time <= h->sibling[*index];
}

static void report_store(Wave *w, const Inst *i, const Entry *e, u32 index)
{
    const Program *p = w->program;
    Finding *f = findings_at(w->worker, OUTCOME_MISSING_WAIT, p->address + p->offset_of[e->inst], 0);
    if (!f || f->count > 1)
        return;
    f->fault = findings_place(w, &p->code[e->inst], OUTCOME_MISSING_WAIT, SPACE_LDS, e->lane, 0, 0, true);
    f->fault.wave = index;
    memset(f->fault.callers, 0, sizeof f->fault.callers);
    f->fault.callers[0] = e->caller < p->count ? p->address + p->offset_of[e->caller] : 0;
    tell_use(w, i, f);
    f->registers[0] = 0;
    WaitCounter counter = landing_of(w, e) == LANDS_MOVED ? COUNTS_LOADS : COUNTS_SHARED;
    outstanding_remedy(p, &(Operation){.counter = (u8)counter}, f->remedy, sizeof f->remedy);
}

/* The wave's own load from memory to LDS that filled this and has not returned; NULL: none. Its stores come in order. */
static const Operation *own_move(const Wave *w, const Entry *e)
{
    const Outstanding *o = shadow_of(w)->outstanding;
    bool own = e->time > w->shadow->began && e->how & BY_STORE && e->wave == happens_before_wave(w->worker->checks->races, w);
    for (u32 k = 0; own && o && k < o->count; k++)
        if (!o->of[k].count && o->of[k].counter == COUNTS_LOADS && o->of[k].inst == e->inst && o->of[k].epoch == e->time)
            return &o->of[k];
    return NULL;
}

void waits_read_of_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes)
{
    u32 index;
    for (u32 l = 0; l < LANES; l++)
        for (u32 dword = offset[l] & ~3u; active >> l & 1 && dword < offset[l] + bytes; dword += 4)
            for (u32 k = 0; k < 2; k++) {
                const Entry *e = &w->shadow->lds_cells[dword / 4].write[k];
                const Operation *moved = own_move(w, e);
                if (moved)
                    report(w, i, moved, true);
                else if (may_be_on_its_way(w, e, &index))
                    report_store(w, i, e, index);
            }
}
