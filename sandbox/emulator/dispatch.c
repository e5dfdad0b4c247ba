/* A dispatch: workgroups over threads, waves round robin to their barriers, outcomes together at the end. */

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "memory_model.h"
#include "access.h"
#include "schedule.h"
#include "shadow.h"
#include "tally.h"
#include "watch.h"
#include "wave.h"

enum {
    QUANTUM = 1 << 16,   /* wave-instructions until another wave of the group gets its turn */
    SHORT_QUANTUM = 1 << 12, /* the same where workgroups have been seen to wait: who spins keeps the others from running */
    CHECKED_QUANTUM = 1 << 11, /* the same where every step is looked at, and polling is slow */
    PATIENCE = 64,       /* rounds without an end or a barrier until another workgroup gets its turn */
    SHORT_PATIENCE = 4,  /* the same where all its waves sleep, or where workgroups have been seen to wait */
    MAX_RESIDENT = 1 << 14, /* workgroups of one worker that may wait for each other: more than any GPU holds */
    MAX_THREADS = 64,
    SHUFFLED_RESIDENT = 6, /* workgroups that take turns where a seed shuffles them */
    SHUFFLED_ROUNDS = 8,   /* at most, in one turn */
};

typedef struct {
    const Dispatch *dispatch;
    u64 next, total;     /* workgroups handed out, and in all */
    u64 steps, waves;
    bool stop;
    double pause_at;     /* when the workers shall return though they have not ended; 0: never */
    MemoryModel *model;  /* or NULL */
} Queue;

typedef struct {
    Worker worker;
    Queue *queue;
    Group **groups;
    u32 resident, room, busy;
    u32 at, idle;        /* whose turn it is, and its rounds without an end or a barrier */
    bool paused;
    Schedule schedule;
    u32 idle_turns;      /* shuffled: since a wave ended or reached a barrier */
} Crew;

static bool stopped(Queue *q) { return __atomic_load_n(&q->stop, __ATOMIC_RELAXED); }
static void stop(Queue *q) { __atomic_store_n(&q->stop, true, __ATOMIC_RELAXED); }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What comes next is the same whether there was a pause or not: it is taken where no turn has begun, or kept its place. */
static bool shall_pause(Crew *c)
{
    if (c->queue->pause_at > 0 && now() >= c->queue->pause_at)
        c->paused = true;
    return c->paused;
}

/* ---- one workgroup ---- */

static u64 slice(Crew *c)
{
    u64 limit = c->queue->dispatch->step_limit, done = __atomic_load_n(&c->queue->steps, __ATOMIC_RELAXED);
    u64 quantum = c->worker.checks ? CHECKED_QUANTUM : c->resident > 1 ? SHORT_QUANTUM : QUANTUM;
    if (c->schedule.seed)
        quantum = schedule_slice(&c->schedule);
    if (!limit)
        return quantum;
    return done >= limit ? 0 : limit - done < quantum ? limit - done : quantum;
}

static void limit_reached(Crew *c, Group *g, Wave *w)
{
    bool others_wait = false;
    for (u32 n = 0; n < g->wave_count; n++)
        others_wait |= g->waves[n].at_barrier;
    wave_fault(w, &w->program->code[w->pc], others_wait ? OUTCOME_DEADLOCK : OUTCOME_STEP_LIMIT, SPACE_GLOBAL, 0, 0, 0,
               false);
    stop(c->queue);
}

static void run_slice(Crew *c, Group *g, Wave *w)
{
    Worker *k = &c->worker;
    u64 steps = slice(c);
    if (!steps) {
        limit_reached(c, g, w);
        return;
    }
    k->budget = steps;
    k->clock += steps;
    wave_run(w);
    k->clock -= k->budget;
    __atomic_fetch_add(&c->queue->steps, steps - k->budget, __ATOMIC_RELAXED);
}

/* Waves that have ended do not hold a barrier up, as on hardware. */
static bool all_signalled(const Group *g)
{
    for (u32 n = 0; n < g->wave_count; n++)
        if (!g->waves[n].ended && !g->waves[n].signalled)
            return false;
    return g->live > 0;
}

/* Who waits goes on; who has signalled and not yet waited will not wait. */
static void pass_barrier(Crew *c, Group *g)
{
    shadow_barrier(g->shadow, &c->worker);
    g->signals = 0;
    for (u32 n = 0; n < g->wave_count; n++) {
        Wave *w = &g->waves[n];
        w->barrier_open = !w->at_barrier;
        w->signalled = w->at_barrier = false;
    }
}

typedef enum { ROUND_PROGRESS, ROUND_BUSY, ROUND_ASLEEP } Round; /* asleep: every wave that could run chose to wait */

/* Let every wave that can run do so once. Progress: one of them ended or reached a barrier. */
static Round run_round(Crew *c, Group *g)
{
    Round round = ROUND_ASLEEP;
    u32 first = c->schedule.seed ? schedule_draw(&c->schedule, g->wave_count) : 0;
    for (u32 n = 0; n < g->wave_count && !stopped(c->queue); n++) {
        Wave *w = &g->waves[(first + n) % g->wave_count];
        if (w->ended || w->at_barrier)
            continue;
        run_slice(c, g, w);
        if (g->trace)
            group_trace_relieve(c->worker.view, g->trace, &c->worker);
        if (w->stop == STOP_FAULT) {
            stop(c->queue);
        } else if (w->stop == STOP_END) {
            w->ended = true;
            g->live--;
        } else if (w->stop == STOP_BARRIER) {
            w->at_barrier = true;
        } else {
            if (round == ROUND_ASLEEP && !c->worker.budget)
                round = ROUND_BUSY;
            continue;
        }
        round = ROUND_PROGRESS;
    }
    if (all_signalled(g))
        pass_barrier(c, g);
    return round;
}

/* ---- the workgroups of one worker ---- */

/* True while there is a workgroup left and a place to run it. */
static bool start_next(Crew *c, Group *g)
{
    Queue *q = c->queue;
    u64 number = __atomic_fetch_add(&q->next, 1, __ATOMIC_RELAXED);
    if (number >= q->total)
        return g->busy = false;
    u64 workgroup = schedule_workgroup(&c->schedule, number);
    __atomic_fetch_add(&q->waves, group_start(g, &c->worker, workgroup), __ATOMIC_RELAXED);
    return true;
}

/* Run a group until it ends (true) or seems to wait for another one, or it is time for a pause. */
static bool run_group(Crew *c, Group *g)
{
    u32 limit = c->resident > 1 ? SHORT_PATIENCE : PATIENCE, asleep = limit / SHORT_PATIENCE;
    while (g->live && c->idle < limit && !stopped(c->queue)) {
        if (shall_pause(c))
            return false;
        Round round = run_round(c, g);
        c->idle = round == ROUND_PROGRESS ? 0 : c->idle + (round == ROUND_BUSY ? 1 : asleep);
    }
    c->idle = 0;
    if (g->live == 0 && g->trace)
        group_trace_end(c->worker.view, g->trace, g->number, &c->worker);
    return g->live == 0;
}

/* A few rounds: the others are to come between. True at the group's end. */
static bool run_turn(Crew *c, Group *g)
{
    for (u32 left = 1 + schedule_draw(&c->schedule, SHUFFLED_ROUNDS); left && g->live && !stopped(c->queue); left--)
        c->idle_turns = run_round(c, g) == ROUND_PROGRESS ? 0 : c->idle_turns + 1;
    return g->live == 0;
}

static bool make_room(Crew *c)
{
    if (c->resident < c->room)
        return true;
    u32 room = c->room ? 2 * c->room : 4;
    Group **groups = realloc(c->groups, room * sizeof *groups);
    if (groups) {
        c->groups = groups;
        c->room = room;
    }
    return groups != NULL;
}

static bool admit_another(Crew *c)
{
    const Dispatch *d = c->queue->dispatch;
    bool none_left = __atomic_load_n(&c->queue->next, __ATOMIC_RELAXED) >= c->queue->total;
    if (none_left || c->resident == MAX_RESIDENT || !make_room(c))
        return false;
    Group *g = malloc(sizeof *g);
    if (!g || !group_create(g, &c->worker)) {
        free(g);
        return false;
    }
    if (!start_next(c, g)) {
        group_destroy(g, d);
        free(g);
        return false;
    }
    c->groups[c->resident++] = g;
    c->busy++;
    return true;
}

/* All that run wait for workgroups that have not begun: as many again begin, so that a few steps reach thousands. */
static void double_resident(Crew *c)
{
    c->idle_turns = 0;
    for (u32 more = c->resident; more && admit_another(c); more--)
        ;
}

static void work_shuffled(Crew *c, Group *g)
{
    if (g->busy && run_turn(c, g) && !stopped(c->queue))
        c->busy -= !start_next(c, g);
    if (c->resident < SHUFFLED_RESIDENT)
        admit_another(c);
    else if (c->idle_turns > PATIENCE * c->resident)
        double_resident(c);
}

static void work_in_order(Crew *c, Group *g)
{
    while (g->busy && run_group(c, g) && !stopped(c->queue))
        c->busy -= !start_next(c, g);
    if (g->busy && !c->paused)
        admit_another(c);
}

/* Until all has ended, or it is time for a pause: then the next call goes on. */
static void *work(void *argument)
{
    Crew *c = argument;
    c->paused = false;
    if (!c->resident && !admit_another(c))
        return NULL;
    while (c->busy && !stopped(c->queue)) {
        Group *g = c->groups[c->at];
        if (!c->schedule.seed)
            work_in_order(c, g);
        else if (!shall_pause(c))
            work_shuffled(c, g);
        if (c->paused)
            break;
        c->at = (c->at + 1) % c->resident;
    }
    return NULL;
}

/* ---- the dispatch ---- */

static u32 thread_count(const Dispatch *d, u64 workgroups)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool alone = d->deterministic || d->check_races || d->schedule_seed;
    u32 n = alone ? 1 : d->threads ? d->threads : (u32)(cores > 0 ? cores : 1);
    if (n > MAX_THREADS)
        n = MAX_THREADS;
    return n > workgroups ? (u32)workgroups : n;
}

static bool crew_create(Crew *c, Memory *m, const Dispatch *d, Queue *q)
{
    *c = (Crew){.queue = q, .schedule = schedule_create(d->schedule_seed, q->total)};
    c->worker.memory = m;
    c->worker.dispatch = d;
    c->worker.tally = tallies_create(d->program->count + 2);
    c->worker.clock = d->clock;
    c->worker.pcs = d->count_pcs ? calloc(d->program->count + 1, sizeof(PcCounts)) : NULL;
    c->worker.view = q->model ? memory_view_create(q->model) : NULL;
    c->worker.watchers = watchers_of(d) & ~(c->worker.view ? 0u : WATCH_COUNTERS);
    return checks_create(&c->worker, m, d) && c->worker.tally && (c->worker.pcs || !d->count_pcs) && (c->worker.view || !q->model);
}

static void crew_destroy(Crew *c, const Dispatch *d)
{
    for (u32 n = 0; n < c->resident; n++) {
        group_destroy(c->groups[n], d);
        free(c->groups[n]);
    }
    free(c->groups);
    checks_destroy(&c->worker);
    tallies_destroy(c->worker.tally, d->program->count + 2);
    free(c->worker.pcs);
    memory_view_destroy(c->worker.view);
}

static void add_tally(void *sum, u32 n, Tally t)
{
    ((Tally *)sum)[n].executions += t.executions;
    ((Tally *)sum)[n].lanes += t.lanes;
}

static void gather_worker(const Worker *k, Tally *sum, const Dispatch *d, Outcome *out)
{
    tallies_sum(k->tally, d->program->count);
    tallies_visit(k->tally, d->program->count, add_tally, sum);
    counters_add_worker(k, out->counters);
    checks_gather(k, out);
    if (k->clock > out->clock)
        out->clock = k->clock;
    if (k->view)
        memory_view_count(k->view, out->counters);
    if (k->fault.kind != OUTCOME_OK && out->fault.kind == OUTCOME_OK)
        out->fault = k->fault;
}

/* An address that nobody owns any more is told as what it was. */
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
static void list_pcs(const Program *p, const Tally *sum, const Crew *crews, u32 crew_count, Outcome *out)
{
    out->pcs = calloc(p->count + 1, sizeof *out->pcs);
    if (!out->pcs)
        return;
    out->pc_count = p->count;
    for (u32 n = 0; n < p->count; n++) {
        out->pcs[n] = (PcCounts){.address = p->address + p->offset_of[n], .executions = sum[n].executions,
                                 .lanes = sum[n].lanes, .bytes = bytes_asked(&p->code[n], sum[n])};
        for (u32 k = 0; k < crew_count; k++)
            add_pcs(&out->pcs[n], &crews[k].worker.pcs[n]);
    }
}

static void run_crews(Crew *crews, u32 count)
{
    pthread_t threads[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    for (u32 n = 1; n < count; n++)
        started[n] = pthread_create(&threads[n], NULL, work, &crews[n]) == 0;
    work(&crews[0]);
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
    Crew *crews;
    u32 made;
    Fault refused;   /* why it does not run at all */
    double seconds;
};

/* Nothing to do, or no way to do it: no crew is made. */
static void make_crews(DispatchRun *r)
{
    const Dispatch *d = &r->dispatch;
    Queue *q = &r->queue;
    if (!q->total || !group_wave_count(d))
        return;
    if (!entry_is_code(d) || d->program->wave32 != (kernel_wave_size(&d->kernel) == 32)) {
        r->refused = (Fault){.kind = OUTCOME_BAD_PC, .pc = d->kernel.entry, .address = d->kernel.entry};
        return;
    }
    if (d->kernarg_bytes) { /* what a wide load brings along behind the arguments is there, but unset */
        memory_set_unset(r->memory, d->kernarg, d->kernarg_bytes, false);
        memory_set_unset(r->memory, d->kernarg + d->kernarg_bytes, KERNARG_SPARE, true);
    }
    q->model = watchers_of(d) & WATCH_COUNTERS ? memory_model_create(d) : NULL;
    u32 count = thread_count(d, q->total);
    r->crews = calloc(count, sizeof *r->crews);
    while (r->crews && r->made < count && crew_create(&r->crews[r->made], r->memory, d, q))
        r->made++;
    if (r->crews && r->made < count)
        crew_destroy(&r->crews[r->made], d);
}

DispatchRun *dispatch_begin(Memory *m, const Dispatch *d)
{
    DispatchRun *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->memory = m;
    r->dispatch = *d;
    r->queue = (Queue){.dispatch = &r->dispatch, .total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2]};
    memory_enter(m);
    make_crews(r);
    return r;
}

bool dispatch_continue(DispatchRun *r, double patience_s)
{
    double start = now();
    bool ended = true;
    r->queue.pause_at = patience_s < 0 ? 0 : start + patience_s;
    if (r->made)
        run_crews(r->crews, r->made);
    for (u32 n = 0; n < r->made; n++)
        ended &= !r->crews[n].busy;
    r->seconds += now() - start;
    return ended || stopped(&r->queue);
}

static void gather(DispatchRun *r, Outcome *out)
{
    const Dispatch *d = &r->dispatch;
    Tally *sum = tallies_create(d->program->count + 1);
    if (!sum)
        return;
    for (u32 n = 0; n < r->made; n++)
        gather_worker(&r->crews[n].worker, sum, d, out);
    name_freed(r->memory, &out->fault);
    counters_gather(d->program, sum, r->queue.waves, out->counters);
    if (d->count_pcs)
        list_pcs(d->program, sum, r->crews, r->made, out);
    if (r->queue.model)
        memory_model_finish(r->queue.model, out->counters, out->pcs);
    out->memory_counted = r->queue.model != NULL;
    tallies_destroy(sum, d->program->count + 1);
}

const Dispatch *dispatch_of_run(const DispatchRun *r) { return &r->dispatch; }

void dispatch_end(DispatchRun *r, Outcome *out)
{
    double start = now();
    *out = (Outcome){.fault = r->refused, .clock = r->dispatch.clock};
    if (r->crews)
        gather(r, out);
    memory_model_destroy(r->queue.model);
    for (u32 n = 0; n < r->made; n++)
        crew_destroy(&r->crews[n], &r->dispatch);
    free(r->crews);
    memory_leave(r->memory);
    out->seconds = r->seconds + now() - start;
    free(r);
}
