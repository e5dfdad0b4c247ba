/* A dispatch: its workers on threads, their outcomes together at the end. */

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks/checks.h"
#include "checks/observers.h"
#include "checks/races/annotations.h"
#include "machine/access.h"
#include "machine/fault.h"
#include "model/counters.h"
#include "model/pc_counts.h"
#include "model/scale.h"
#include "run/kernel_code.h"
#include "run/sampling.h"
#include "run/worker.h"
#include "timing/timing.h"

enum { MAX_THREADS = 64 };

/* ---- the dispatch ---- */

static u32 thread_count(const Dispatch *d, u64 workgroups)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool alone = d->deterministic || d->check_races || d->schedule_seed || (d->reproducible && annotations_communicate(d->program));
    u32 n = alone ? 1 : d->threads ? d->threads : (u32)(cores > 0 ? cores : 1);
    if (n > MAX_THREADS)
        n = MAX_THREADS;
    return n > workgroups ? (u32)workgroups : n;
}

static void add_pc_counts(void *sum, u32 n, PcExecutions t)
{
    ((PcExecutions *)sum)[n].executions += t.executions;
    ((PcExecutions *)sum)[n].lanes += t.lanes;
}

static u64 number_of(const Dispatch *d, const u32 *workgroup)
{
    return workgroup[0] + d->workgroups[0] * (workgroup[1] + (u64)d->workgroups[1] * workgroup[2]);
}

static bool is_limit(OutcomeKind k) { return k == OUTCOME_STEP_LIMIT || k == OUTCOME_DEADLOCK || k == OUTCOME_RESIDENCY; }

/* Of the faults of two threads, that of the earlier workgroup. A hang is reported where there is no other fault: which
 * workgroups run next to it depends on the threads. */
static bool comes_first(const Dispatch *d, const Fault *a, const Fault *b)
{
    if (b->kind == OUTCOME_OK || is_limit(a->kind) != is_limit(b->kind))
        return b->kind == OUTCOME_OK || is_limit(b->kind);
    return number_of(d, a->workgroup) < number_of(d, b->workgroup);
}

static void gather_worker(const Worker *k, PcExecutions *sum, const Dispatch *d, Outcome *out)
{
    pc_counts_sum(k->pc_counts, d->program->count);
    pc_counts_visit(k->pc_counts, d->program->count, add_pc_counts, sum);
    counters_add_worker(k, out->counters);
    checks_gather(k, out);
    if (k->clock > out->clock)
        out->clock = k->clock;
    if (k->view)
        l1_view_count(k->view, out->counters);
    if (k->fault.kind != OUTCOME_OK && comes_first(d, &k->fault, &out->fault))
        out->fault = k->fault;
}

/* An address in a released block is reported as a use after free. */
static void name_freed(Memory *m, Fault *f)
{
    Block near;
    bool in_memory = f->space == SPACE_GLOBAL || f->space == SPACE_SCALAR;
    if (f->kind == OUTCOME_OUT_OF_BOUNDS && in_memory && memory_nearest(m, f->address, &near) && !near.live &&
        f->address - near.address < near.bytes)
        f->kind = OUTCOME_USE_AFTER_FREE;
}

static void add_pcs(PcCounts *sum, const PcCounts *k)
{
    sum->divergent += k->divergent;
    sum->lines += k->lines;
    sum->l1_hits += k->l1_hits;
    sum->lds_cycles += k->lds_cycles;
    sum->lds_conflicts += k->lds_conflicts;
    sum->lines_stored += k->lines_stored;
}

/* What each instruction did, over all threads. */
static void list_pcs(const Program *p, const PcExecutions *sum, const WorkerThread *workers, u32 worker_count, Outcome *out)
{
    out->pcs = calloc(p->count + 1, sizeof *out->pcs);
    if (!out->pcs)
        return;
    out->pc_count = p->count;
    for (u32 n = 0; n < p->count; n++) {
        out->pcs[n] = (PcCounts){.address = p->address + p->offset_of[n], .executions = sum[n].executions,
                                 .lanes = sum[n].lanes, .bytes = counters_bytes_asked(&p->code[n], sum[n])};
        for (u32 k = 0; k < worker_count; k++)
            add_pcs(&out->pcs[n], &workers[k].worker.pcs[n]);
    }
}

/* The instructions that ran, as spans. */
static void list_ran(const Program *p, const PcExecutions *sum, Outcome *out)
{
    bool goes_on = false;
    out->ran = calloc(p->count + 1, sizeof *out->ran);
    for (u32 n = 0; out->ran && n < p->count; n++) {
        bool ran = sum[n].executions != 0, idle = sum[n].lanes == 0;
        if (ran && goes_on && out->ran[out->ran_count - 1].idle == idle)
            out->ran[out->ran_count - 1].last = p->address + p->offset_of[n];
        else if (ran)
            out->ran[out->ran_count++] = (RanSpan){p->address + p->offset_of[n], p->address + p->offset_of[n], idle};
        goes_on = ran;
    }
}

static void run_workers(WorkerThread *workers, u32 count)
{
    pthread_t threads[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    for (u32 n = 1; n < count; n++)
        started[n] = pthread_create(&threads[n], NULL, worker_run, &workers[n]) == 0;
    worker_run(&workers[0]);
    for (u32 n = 1; n < count; n++)
        if (started[n])
            pthread_join(threads[n], NULL);
}

static bool entry_is_code(const Dispatch *d)
{
    const Program *p = d->program;
    u64 offset = d->kernel.entry - p->address;
    return offset % 4 == 0 && offset < p->bytes && p->index_of[offset / 4] != ~0u;
}

struct DispatchRun {
    Memory *memory;
    Dispatch dispatch;
    Queue queue;
    WorkerThread *workers;
    u32 made;
    Fault refused;   /* why it does not run at all */
    Sampling sampling;
    double seconds;
};

/* Each thread needs at least one. */
static Fit places_for(const Dispatch *d, u32 threads)
{
    if (!d->limit_residency || d->schedule_seed || !d->program->shape)
        return (Fit){.workgroups = ~0ull};
    Fit fit = residency_fit(d, d->program->shape);
    fit.workgroups = fit.workgroups < threads ? threads : fit.workgroups;
    return fit;
}

/* Nothing to do, or no way to do it: no worker is made. */
static void make_workers(DispatchRun *r)
{
    const Dispatch *d = &r->dispatch;
    Queue *q = &r->queue;
    if (!q->total || !kernel_group_waves(d))
        return;
    if (!entry_is_code(d) || d->program->wave32 != (kernel_wave_size(&d->kernel) == 32)) {
        r->refused = (Fault){.kind = OUTCOME_BAD_PC, .pc = d->kernel.entry, .address = d->kernel.entry};
        return;
    }
    if (d->kernarg_bytes) { /* wide loads may read beyond the arguments: that memory exists, but is unset */
        memory_set_unset(r->memory, d->kernarg, d->kernarg_bytes, false);
        memory_set_unset(r->memory, d->kernarg + d->kernarg_bytes, KERNARG_SPARE, true);
    }
    q->model = observers_of(d) & OBSERVE_COUNTERS ? l2_create(d) : NULL;
    r->sampling = sampling_begin(q);
    q->record = q->model && d->count_pcs && !(d->check_memory || d->check_races || d->schedule_seed) ? record_create(d, q->subset) : NULL;
    u32 count = q->workers = thread_count(d, q->total);
    q->fit = places_for(d, count);
    r->workers = calloc(count, sizeof *r->workers);
    while (r->workers && r->made < count && worker_create(&r->workers[r->made], r->memory, d, q))
        r->made++;
    if (r->workers && r->made < count)
        worker_destroy(&r->workers[r->made], d);
}

DispatchRun *dispatch_begin(Memory *m, const Dispatch *d)
{
    DispatchRun *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->memory = m;
    r->dispatch = *d;
    r->queue = (Queue){.dispatch = &r->dispatch, .stop_at = ~0ull,
                         .total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2]};
    gws_start(&r->queue.gws, r->queue.total);
    memory_enter(m);
    make_workers(r);
    return r;
}

bool dispatch_continue(DispatchRun *r, double patience_s)
{
    double start = worker_monotonic_s();
    bool ended = true;
    r->queue.pause_at = patience_s < 0 ? 0 : start + patience_s;
    r->queue.end_at = r->dispatch.end_at;
    do {
        if (r->made)
            run_workers(r->workers, r->made);
        for (u32 n = 0; n < r->made; n++)
            ended &= !r->workers[n].busy || r->workers[n].stands_still;
    } while (ended && sampling_goes_on(&r->sampling, &r->queue, r->workers, r->made));
    r->seconds += worker_monotonic_s() - start;
    return ended || worker_queue_stopped(&r->queue);
}

/* ---- where a limit stopped it ---- */

static void add_standing(const Wave *w, Outcome *out)
{
    const Program *p = w->program;
    u64 at = w->at_barrier ? w->pc - 1 : w->pc; /* it has executed the barrier */
    Standing here = {.pc = p->address + p->offset_of[at], .wave = w->index, .at_barrier = w->at_barrier, .waves = 1};
    memcpy(here.workgroup, w->workgroup, sizeof here.workgroup);
    fault_callers(w, here.callers);
    if (w->takes)
        here.takes = p->address + p->offset_of[w->takes - 1];
    for (u32 k = 0; k < out->standing_count; k++) {
        Standing *s = &out->standing[k];
        if (s->pc == here.pc && s->at_barrier == here.at_barrier && !memcmp(s->callers, here.callers, sizeof s->callers)) {
            s->waves++;
            s->takes = s->takes ? s->takes : here.takes;
            return;
        }
    }
    if (out->standing_count < MAX_STANDING)
        out->standing[out->standing_count++] = here;
}

static void list_standing(const WorkerThread *c, Outcome *out)
{
    for (u32 n = 0; n < c->resident; n++)
        for (u32 k = 0; c->groups[n]->busy && k < c->groups[n]->wave_count; k++) {
            const Wave *w = &c->groups[n]->waves[k];
            if (!w->ended && w->pc < w->program->count)
                add_standing(w, out);
        }
}

static void describe_limit(DispatchRun *r, Outcome *out)
{
    const Queue *q = &r->queue;
    out->started = q->next < q->total ? q->next : q->total;
    out->fit = q->fit.by ? q->fit.workgroups : 0;
    out->fit_by = q->fit.by;
    for (u32 n = 0; n < r->made; n++)
        out->standstill |= r->workers[n].stands_still;
}

static void gather(DispatchRun *r, Outcome *out)
{
    const Dispatch *d = &r->dispatch;
    PcExecutions *sum = pc_counts_create(d->program->count + 1);
    if (!sum)
        return;
    for (u32 n = 0; n < r->made; n++)
        gather_worker(&r->workers[n].worker, sum, d, out);
    for (u32 n = 0; is_limit(out->fault.kind) && n < r->made; n++)
        list_standing(&r->workers[n], out);
    if (is_limit(out->fault.kind))
        describe_limit(r, out);
    out->process_ends = is_limit(out->fault.kind) && d->end_at > 0 && worker_monotonic_s() >= d->end_at;
    name_freed(r->memory, &out->fault);
    u64 waves = sampling_gather(&r->sampling, &r->queue, sum, out);
    counters_gather(d->program, sum, waves, out->counters);
    if (d->count_pcs)
        list_pcs(d->program, sum, r->workers, r->made, out);
    if (d->list_ran)
        list_ran(d->program, sum, out);
    if (out->pcs && r->queue.subset)
        scale_gather_pcs(r->queue.subset, out->pcs);
    if (r->queue.model)
        l2_finish(r->queue.model, out->counters, out->pcs);
    out->memory_counted = r->queue.model != NULL;
    timing_gather(d, r->queue.record, out);
    pc_counts_destroy(sum, d->program->count + 1);
}

const Dispatch *dispatch_of_run(const DispatchRun *r) { return &r->dispatch; }

void dispatch_end(DispatchRun *r, Outcome *out)
{
    double start = worker_monotonic_s();
    *out = (Outcome){.fault = r->refused, .clock = r->dispatch.clock};
    if (r->workers)
        gather(r, out);
    l2_destroy(r->queue.model);
    subset_destroy(r->queue.subset);
    record_destroy(r->queue.record);
    for (u32 n = 0; n < r->made; n++)
        worker_destroy(&r->workers[n], &r->dispatch);
    free(r->workers);
    memory_leave(r->memory);
    out->seconds = r->seconds + worker_monotonic_s() - start;
    free(r);
}
