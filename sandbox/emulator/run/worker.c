/* A worker's workgroups: waves round robin to their barriers, other workgroups while all of them wait. */
#include "run/worker.h"

#include <stdlib.h>
#include <time.h>

#include "checks/checks.h"
#include "checks/observers.h"
#include "machine/fault.h"
#include "model/pc_counts.h"
#include "run/meetings.h"

enum {
    QUANTUM = 1 << 16,   /* wave-instructions until another wave of the group runs */
    SHORT_QUANTUM = 1 << 10, /* the same where workgroups have waited before: a wave that spins keeps the others from running */
    CHECKED_QUANTUM = 1 << 11, /* the same where every step is checked, and polling is slow */
    PATIENCE = 64,       /* rounds without an end or a barrier until another workgroup runs */
    SLEEP = 16,          /* as many rounds count for one in which all waves chose to wait */
    WAITING_STEPS = 1 << 14, /* of each workgroup, without an end or a barrier of any, until more of them begin */
    MAX_RESIDENT = 1 << 14, /* workgroups of one worker that may wait for each other: more than any GPU holds */
    LONG_CYCLE = 1 << 10,    /* instructions of a loop that waits, at most */
    SHORT_CYCLE = 1 << 6,    /* the same where many workgroups are asked often */
    SHUFFLED_RESIDENT = 6, /* workgroups that take turns where a seed shuffles them */
    SHUFFLED_ROUNDS = 8,   /* at most, in one turn */
    START_STEPS = 64,      /* of the limit, for the start of a workgroup: empty ones would take minutes to reach it */
    LOOK_STEPS = 64,       /* steps at most that a wave uses while it waits for others of the grid */
    MEAN_SLICE = 512,      /* about so many wave-instructions, where a seed shuffles more than a few workgroups */
    LAST_ROUNDS = 1024,    /* of workgroups that began before the one with a fault */
};

static u64 stop_at(Queue *q) { return __atomic_load_n(&q->stop_at, __ATOMIC_RELAXED); }
bool worker_queue_stopped(Queue *q) { return stop_at(q) != ~0ull; }
bool worker_queue_waits(Queue *q) { return __atomic_load_n(&q->next, __ATOMIC_RELAXED) < q->total; }

/* Workgroups before this one continue: if one of them faults too, its fault is reported, whichever thread was faster. */
static void stop(Queue *q, u64 workgroup)
{
    u64 at = stop_at(q);
    while (workgroup < at && !__atomic_compare_exchange_n(&q->stop_at, &at, workgroup, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static bool may_run(Queue *q, const Group *g) { return g->number < stop_at(q); }

double worker_monotonic_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A pause does not change the order: it is taken between turns, or keeps the position within one. */
static bool shall_pause(WorkerThread *c)
{
    if (c->queue->pause_at > 0 && worker_monotonic_s() >= c->queue->pause_at)
        c->paused = true;
    return c->paused;
}

/* ---- one workgroup ---- */

static u64 slice(WorkerThread *c, const Group *g)
{
    u64 limit = c->queue->dispatch->step_limit, done = __atomic_load_n(&c->queue->steps, __ATOMIC_RELAXED);
    u64 quantum = c->worker.checks ? CHECKED_QUANTUM : c->resident > 1 ? SHORT_QUANTUM : QUANTUM;
    if (c->schedule.seed)
        quantum = schedule_slice(&c->schedule, g->number);
    if (c->queue->end_at > 0 && worker_monotonic_s() >= c->queue->end_at)
        return 0;
    if (!limit)
        return quantum;
    return done >= limit ? 0 : limit - done < quantum ? limit - done : quantum;
}

static void limit_reached(WorkerThread *c, Group *g, Wave *w)
{
    bool others_wait = false;
    for (u32 n = 0; n < g->wave_count; n++)
        others_wait |= g->waves[n].at_barrier;
    fault_record(w, &w->program->code[w->pc], others_wait ? OUTCOME_DEADLOCK : OUTCOME_STEP_LIMIT, SPACE_GLOBAL, 0, 0, 0,
               false);
    stop(c->queue, 0);
}

static Progress progress(Queue *q)
{
    return (Progress){__atomic_load_n(&q->steps, __ATOMIC_RELAXED), __atomic_load_n(&q->next, __ATOMIC_RELAXED), q->total};
}

static void run_slice(WorkerThread *c, Group *g, Wave *w)
{
    Worker *k = &c->worker;
    u64 steps = slice(c, g);
    if (!steps) {
        limit_reached(c, g, w);
        return;
    }
    k->budget = steps;
    k->clock += steps;
    w->met = false;
    wave_run(w);
    if (w->met)
        meetings_hold(&c->schedule, progress(c->queue), w);
    k->clock -= k->budget;
    c->idle_steps += steps - k->budget;
    w->ran += steps - k->budget;
    if (w->ran > k->events.longest_wave)
        k->events.longest_wave = w->ran;
    __atomic_fetch_add(&c->queue->steps, steps - k->budget + k->host_steps, __ATOMIC_RELAXED);
    k->host_steps = 0;
}

/* Polling a barrier of the grid costs steps too, so that a wave that no other joins there reaches the limit. */
static bool waits_for_grid(WorkerThread *c, Group *g, Wave *w)
{
    if (!gws_waits(w))
        return false;
    c->worker.budget = LOOK_STEPS;
    __atomic_fetch_add(&c->queue->steps, LOOK_STEPS, __ATOMIC_RELAXED);
    if (!slice(c, g))
        limit_reached(c, g, w);
    return true;
}

/* A barrier does not wait for waves that have ended, as on hardware. */
static bool all_signalled(const Group *g)
{
    for (u32 n = 0; n < g->wave_count; n++)
        if (!g->waves[n].ended && !g->waves[n].signalled)
            return false;
    return g->live > 0;
}

/* Waves that wait continue; a wave that has signalled and not yet waited will not wait. */
static void pass_barrier(WorkerThread *c, Group *g)
{
    checks_group_barrier(g->shadow, &c->worker);
    g->signals = 0;
    g->passed++;
    for (u32 n = 0; n < g->wave_count; n++) {
        Wave *w = &g->waves[n];
        w->barrier_open = !w->at_barrier;
        w->signalled = w->at_barrier = false;
    }
}

/* A trap ends the queue but not the other waves of the workgroup: they continue to their own trap, so that each prints its
 * failed assert. The first one is reported as the dispatch's fault. */
static void run_beside_trap(WorkerThread *c, Group *g)
{
    const Fault first = c->worker.fault;
    bool any = true;
    for (u32 left = PATIENCE; any && left; left--) { /* one may wait for the wave that is gone */
        any = false;
        for (u32 n = 0; n < g->wave_count; n++) {
            Wave *w = &g->waves[n];
            if (w->ended || w->at_barrier || gws_waits(w))
                continue;
            run_slice(c, g, w);
            if (g->trace)
                l1_group_relieve(c->worker.view, g->trace, &c->worker);
            w->ended = w->stop == STOP_END || w->stop == STOP_FAULT;
            w->at_barrier = w->stop == STOP_BARRIER;
            any = true;
        }
    }
    c->worker.fault = first;
}

/* What a stop of the wave means for its workgroup. True: progress, as it ended or reached a barrier. */
static bool settle(WorkerThread *c, Group *g, Wave *w)
{
    if (w->stop == STOP_FAULT) {
        if (c->worker.fault.kind == OUTCOME_TRAP) {
            w->ended = true;
            run_beside_trap(c, g);
        }
        stop(c->queue, c->schedule.seed ? 0 : g->number);
    } else if (w->stop == STOP_END) {
        w->ended = true;
        g->live--;
    } else if (w->stop == STOP_BARRIER) {
        w->at_barrier = true;
    } else {
        return false;
    }
    return true;
}

typedef enum { ROUND_PROGRESS, ROUND_BUSY, ROUND_INACTIVE } Round; /* inactive: every wave that could run chose to wait */

/* The `n`th wave to run. The first work-item often prepares what all use: if its wave always runs first, a use that comes
 * too early is never seen. */
static Wave *wave_in_turn(const WorkerThread *c, Group *g, u32 first, u32 n)
{
    enum { EVERY = 4 };
    if (c->queue->dispatch->last_waves_first && !c->schedule.seed && (g->number + g->passed) % EVERY != EVERY - 1)
        return &g->waves[g->wave_count - 1 - n];
    return &g->waves[(first + n) % g->wave_count];
}

/* Let every wave that can run do so once. Progress: one of them ended or reached a barrier. */
static Round run_round(WorkerThread *c, Group *g)
{
    Round round = ROUND_INACTIVE;
    u32 first = c->schedule.seed ? schedule_draw(&c->schedule, g->wave_count) : 0;
    for (u32 n = 0; n < g->wave_count && may_run(c->queue, g); n++) {
        Wave *w = wave_in_turn(c, g, first, n);
        if (!meetings_can_run(progress(c->queue), w))
            continue;
        if (likely(!waits_for_grid(c, g, w)))
            run_slice(c, g, w);
        if (g->trace)
            l1_group_relieve(c->worker.view, g->trace, &c->worker);
        if (settle(c, g, w))
            round = ROUND_PROGRESS;
        else if (round == ROUND_INACTIVE && !c->worker.budget)
            round = ROUND_BUSY;
    }
    if (all_signalled(g))
        pass_barrier(c, g);
    return round;
}

/* ---- the workgroups of one worker ---- */

/* True while there is a workgroup left and a place to run it. */
static bool start_next(WorkerThread *c, Group *g)
{
    Queue *q = c->queue;
    u64 number = __atomic_fetch_add(&q->next, 1, __ATOMIC_RELAXED);
    if (number >= q->total)
        return g->busy = false;
    u64 workgroup = q->subset ? subset_workgroup(q->subset, number) : schedule_workgroup(&c->schedule, number);
    if (q->dispatch->step_limit)
        __atomic_fetch_add(&q->steps, START_STEPS, __ATOMIC_RELAXED);
    __atomic_fetch_add(&q->waves, wave_group_start(g, &c->worker, workgroup), __ATOMIC_RELAXED);
    for (u32 n = 0; q->record && n < g->wave_count; n++)
        g->waves[n].steps = record_steps(q->record, workgroup, n);
    return true;
}

static void annotate_idle(WorkerThread *c, Round round)
{
    if (round == ROUND_PROGRESS)
        c->idle_steps = 0;
    else if (round == ROUND_INACTIVE)
        c->idle_steps += MEAN_SLICE;
}

/* The waves of the workgroup are looked at one by one, and as soon as one might continue the search ends. */
static bool group_repeats(WorkerThread *c, Group *g, u32 longest)
{
    const Dispatch *d = c->queue->dispatch;
    u64 steps = 0;
    if (!d->proves_hangs || c->worker.gws || (!c->standstill && !(c->standstill = standstill_create(d))))
        return false;
    bool repeats = true;
    for (u32 n = 0; repeats && n < g->wave_count; n++) {
        Wave *w = &g->waves[n];
        if (w->ended || w->at_barrier)
            continue;
        repeats = standstill_repeats(c->standstill, w, longest, c->queue->workers > 1, &steps);
        if (!repeats)
            settle(c, g, w);
    }
    if (all_signalled(g))
        pass_barrier(c, g);
    __atomic_fetch_add(&c->queue->steps, steps, __ATOMIC_RELAXED);
    return repeats;
}

/* Run a group until it ends (true) or seems to wait for another one, or it is time for a pause. */
static bool run_group(WorkerThread *c, Group *g)
{
    u32 limit = c->resident > 1 ? 1 : PATIENCE;
    if (c->resident > 1 && group_repeats(c, g, SHORT_CYCLE)) { /* it still waits: that costs a few instructions only */
        c->idle_steps += (u64)SHORT_QUANTUM * g->wave_count;
        return false;
    }
    while (g->live && c->idle < limit && may_run(c->queue, g)) {
        if (shall_pause(c))
            return false;
        Round round = run_round(c, g);
        c->idle = round == ROUND_PROGRESS ? 0 : c->idle + (round == ROUND_BUSY ? 1 : SLEEP);
        annotate_idle(c, round);
        if (c->idle == 1 && limit > 1 && group_repeats(c, g, LONG_CYCLE))
            break;
    }
    c->idle = 0;
    if (g->live == 0 && g->trace)
        subset_group_end(c->queue->sampling ? c->queue->subset : NULL, g->number, g->wave_count, g->trace, &c->worker);
    return g->live == 0;
}

/* A few rounds, so that the other workgroups run in between. True at the group's end. */
static bool run_turn(WorkerThread *c, Group *g)
{
    for (u32 left = 1 + schedule_draw(&c->schedule, SHUFFLED_ROUNDS); left && g->live && may_run(c->queue, g); left--)
        if (meetings_any_can_run(progress(c->queue), g))
            annotate_idle(c, run_round(c, g));
    return g->live == 0;
}

static bool make_room(WorkerThread *c)
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

/* One of the places that the GPU has for workgroups; it is kept for one workgroup after the other. */
static bool take_place(Queue *q)
{
    u64 taken = __atomic_load_n(&q->places, __ATOMIC_RELAXED);
    while (taken < q->fit.workgroups)
        if (__atomic_compare_exchange_n(&q->places, &taken, taken + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    return false;
}

static bool admit_another(WorkerThread *c)
{
    const Dispatch *d = c->queue->dispatch;
    if (!worker_queue_waits(c->queue) || c->resident == MAX_RESIDENT || !make_room(c) || !take_place(c->queue))
        return false;
    Group *g = malloc(sizeof *g);
    bool made = g && wave_group_create(g, &c->worker);
    if (!made || !start_next(c, g)) {
        if (made)
            wave_group_destroy(g, d);
        free(g);
        __atomic_fetch_sub(&c->queue->places, 1, __ATOMIC_RELAXED);
        return false;
    }
    c->groups[c->resident++] = g;
    c->busy++;
    return true;
}

/* ---- workgroups that wait ---- */

static OutcomeKind kind_of_hang(const WorkerThread *c, const Group *g)
{
    bool others_wait = false;
    if (worker_queue_waits(c->queue))
        return OUTCOME_RESIDENCY;
    for (u32 n = 0; n < g->wave_count; n++)
        others_wait |= g->waves[n].at_barrier;
    return others_wait ? OUTCOME_DEADLOCK : OUTCOME_STEP_LIMIT;
}

/* The fault of a standstill is that of its first workgroup, at a wave that is not at the barrier if there is one. */
static void stand_still(WorkerThread *c)
{
    Group *first = NULL;
    for (u32 n = 0; n < c->resident; n++)
        if (c->groups[n]->busy && (!first || c->groups[n]->number < first->number))
            first = c->groups[n];
    Wave *at = NULL;
    for (u32 n = 0; first && n < first->wave_count; n++)
        if (!first->waves[n].ended && (!at || (at->at_barrier && !first->waves[n].at_barrier)))
            at = &first->waves[n];
    c->stands_still = at != NULL;
    if (at)
        fault_record(at, &at->program->code[at->pc], kind_of_hang(c, first), SPACE_GLOBAL, 0, 0, 0, false);
}

/* No more workgroups can begin here: those that run may wait for ever. */
static void look_for_standstill(WorkerThread *c)
{
    if (c->paused || worker_queue_stopped(c->queue))
        return;
    if (worker_queue_waits(c->queue) && __atomic_load_n(&c->queue->places, __ATOMIC_RELAXED) < c->queue->fit.workgroups)
        return; /* because memory is missing here */
    for (u32 n = 0; n < c->resident; n++)
        if (c->groups[n]->busy && !group_repeats(c, c->groups[n], LONG_CYCLE))
            return;
    stand_still(c);
}

/* All running workgroups wait for others that have not begun: the number of running ones doubles. */
static void double_resident(WorkerThread *c)
{
    u32 before = c->resident;
    c->idle_steps = 0;
    for (u32 more = before; more && admit_another(c); more--)
        ;
    if (c->resident == before)
        look_for_standstill(c);
}

/* When none of the running workgroups can do anything else, all waves that wait behind a load continue. */
static void release_held(WorkerThread *c)
{
    u64 steps = __atomic_load_n(&c->queue->steps, __ATOMIC_RELAXED);
    c->still_turns = steps == c->steps_then ? c->still_turns + 1 : 0;
    c->steps_then = steps;
    for (u32 n = 0; c->still_turns > c->resident && n < c->resident; n++)
        meetings_release(c->groups[n]);
}

static void work_shuffled(WorkerThread *c, Group *g)
{
    if (g->busy && run_turn(c, g) && !worker_queue_stopped(c->queue))
        c->busy -= !start_next(c, g);
    release_held(c);
    if (c->resident < SHUFFLED_RESIDENT)
        admit_another(c);
    else if (c->idle_steps > (u64)PATIENCE * MEAN_SLICE * c->resident)
        double_resident(c);
}

static void work_in_order(WorkerThread *c, Group *g)
{
    while (g->busy && run_group(c, g) && !worker_queue_stopped(c->queue))
        c->busy -= !start_next(c, g);
    bool all_wait = c->resident == 1 || c->idle_steps > (u64)WAITING_STEPS * c->resident;
    if (g->busy && all_wait && !c->paused && !worker_queue_stopped(c->queue))
        double_resident(c);
}

/* After a fault: runs the workgroups before the faulting one until they end, or for a limited time, as they may wait for
 * it. A fault that is found now is an earlier one, and replaces it. */
static void finish_earlier(WorkerThread *c)
{
    u32 left = LAST_ROUNDS;
    for (u32 n = 0; n < c->resident; n++) {
        Group *g = c->groups[n];
        Fault later = c->worker.fault;
        c->worker.fault.kind = OUTCOME_OK;
        for (; g->busy && g->live && left && may_run(c->queue, g); left--)
            run_round(c, g);
        if (c->worker.fault.kind == OUTCOME_OK)
            c->worker.fault = later;
    }
}

void *worker_run(void *argument)
{
    WorkerThread *c = argument;
    c->paused = false;
    if (!c->resident && !admit_another(c))
        return NULL;
    while (c->busy && !c->stands_still && !worker_queue_stopped(c->queue)) {
        Group *g = c->groups[c->at];
        if (!c->schedule.seed)
            work_in_order(c, g);
        else if (!shall_pause(c))
            work_shuffled(c, g);
        if (c->paused)
            break;
        c->at = (c->at + 1) % c->resident;
    }
    if (worker_queue_stopped(c->queue))
        finish_earlier(c);
    return NULL;
}

bool worker_create(WorkerThread *c, Memory *m, const Dispatch *d, Queue *q)
{
    *c = (WorkerThread){.queue = q, .schedule = schedule_create(d->schedule_seed, q->total)};
    c->worker.memory = m;
    c->worker.dispatch = d;
    c->worker.pc_counts = pc_counts_create(d->program->count + 2);
    c->worker.clock = d->clock;
    c->worker.gws = d->cooperative ? &q->gws : NULL;
    c->worker.pcs = d->count_pcs ? calloc(d->program->count + 1, sizeof(PcCounts)) : NULL;
    c->worker.view = q->model ? l1_view_create(q->model) : NULL;
    c->worker.observers = observers_of(d) & ~(c->worker.view ? 0u : OBSERVE_COUNTERS);
    if (c->worker.view && q->sampling && !l1_view_note_places(c->worker.view, d->program->count))
        return false;
    return checks_create(&c->worker, m, d) && c->worker.pc_counts && (c->worker.pcs || !d->count_pcs) && (c->worker.view || !q->model);
}

void worker_resume(WorkerThread *c)
{
    __atomic_fetch_sub(&c->queue->places, c->resident, __ATOMIC_RELAXED);
    wave_groups_destroy(c->groups, c->resident, c->worker.dispatch);
    c->resident = c->busy = c->at = 0;
}

void worker_destroy(WorkerThread *c, const Dispatch *d)
{
    wave_groups_destroy(c->groups, c->resident, d);
    free(c->groups);
    checks_destroy(&c->worker);
    pc_counts_destroy(c->worker.pc_counts, d->program->count + 2);
    free(c->worker.pcs);
    l1_view_destroy(c->worker.view);
    standstill_destroy(c->standstill);
}
