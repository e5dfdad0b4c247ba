#include "timing/record.h"

#include <stdlib.h>

#include "model/l1.h"
#include "run/kernel_code.h"

enum { MOST_STEPS = 1 << 21, MOST_WORK = 0xffff }; /* of all waves together: 16 MiB */

Record *record_create(const Dispatch *d, const Subset *s)
{
    u64 total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2], from = s ? subset_size(s) : total;
    u32 waves = kernel_group_waves(d), count = from < MOST_RECORDED ? (u32)from : MOST_RECORDED;
    Record *r = calloc(1, sizeof *r);
    for (u32 n = 0; r && n < count; n++) {
        u64 turn = from * (2 * n + 1) / (2 * count);
        Recorded *g = &r->group[n];
        *g = (Recorded){.number = s ? subset_workgroup(s, turn) : turn, .waves = waves, .wave = calloc(waves, sizeof *g->wave)};
        for (u32 k = 0; g->wave && k < waves; k++)
            g->wave[k].most = MOST_STEPS / count / waves;
        r->count += g->wave != NULL;
    }
    return r;
}

void record_destroy(Record *r)
{
    for (u32 n = 0; r && n < r->count; n++) {
        for (u32 k = 0; k < r->group[n].waves; k++)
            free(r->group[n].wave[k].step);
        free(r->group[n].wave);
    }
    free(r);
}

Steps *record_steps(Record *r, u64 number, u32 wave)
{
    for (u32 n = 0; r && n < r->count; n++)
        if (r->group[n].number == number && wave < r->group[n].waves)
            return &r->group[n].wave[wave];
    return NULL;
}

static void add(Steps *s, Step step)
{
    if (s->count == s->room) {
        u32 room = s->room ? 2 * s->room : 1024;
        Step *more = s->room < s->most ? realloc(s->step, room * sizeof *more) : NULL;
        if (!more) {
            s->most = s->room;
            return;
        }
        s->step = more;
        s->room = room;
    }
    s->step[s->count++] = step;
}

static u16 clipped(u64 x) { return x < MOST_WORK ? (u16)x : MOST_WORK; }

void record_run(Wave *w, const Inst *i, u32 inst, void (*run)(Wave *w, const Inst *i))
{
    LdsCycles before = w->worker->lds;
    MemoryWork memory = l1_view_work(w->worker->view);
    Steps *s = w->steps;
    run(w, i);
    LdsCycles now = w->worker->lds;
    MemoryWork then = l1_view_work(w->worker->view);
    u64 conflicts = now.bank_conflicts + now.address_conflicts - before.bank_conflicts - before.address_conflicts;
    Step step = {.inst = inst, .work = clipped(then.lines - memory.lines), .extra = clipped(then.lookups - memory.lookups)};
    if (!step.work && now.active != before.active)
        step = (Step){.inst = inst, .shared = true, .work = clipped(now.active - before.active), .extra = clipped(conflicts)};
    add(s, step);
}
