/*
 * One kernel launch: workgroups over threads, waves of a workgroup in turn, registers as the hardware sets them up.
 * Source: LLVM AMDGPUUsage, "Initial Kernel Execution State" and "Kernel Descriptor".
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "machine.h"

enum {
    QUANTUM = 4096,        /* wave-instructions before another wave of the workgroup gets its turn */
    MAX_THREADS = 64,
    POISON = 0xff,         /* LDS and scratch hold garbage at first; as floats this is NaN */
};

/* What all threads of a launch share. */
typedef struct {
    Memory *memory;
    const Dispatch *dispatch;
    u32 groups[3];
    u64 total;
    atomic_ullong next;    /* the next workgroup */
    atomic_ullong steps;
    atomic_bool stop;
    pthread_mutex_t lock;
    Fault fault;
    u64 waves;
} Launch;

typedef struct {
    Launch *launch;
    Worker worker;
    Wave *waves;
    u32 wave_room;
    u32 (*registers)[LANES];
    u8 *lds, *scratch;
    u64 started;
    bool out_of_memory;
} Thread;

static u32 lds_bytes_of(const Dispatch *d) { return d->kernel.lds_bytes + d->dynamic_lds_bytes; }
static u32 work_items(const u32 *block) { return block[0] * block[1] * block[2]; }

/* ---- registers of a new wave ---- */

enum {
    USE_PRIVATE_SEGMENT_BUFFER = 1, USE_DISPATCH_PTR = 2, USE_QUEUE_PTR = 4, USE_KERNARG_PTR = 8, USE_DISPATCH_ID = 16,
    USE_FLAT_SCRATCH = 32, USE_PRIVATE_SEGMENT_SIZE = 64,
};

static u32 user_pair(Wave *w, u32 at, u64 value)
{
    put_scalar_pair(w, at, value);
    return at + 2;
}

/* Kernel arguments that hardware loads ahead; the descriptor says how many words, and from which. */
static void preload(Wave *w, const Dispatch *d, u32 at)
{
    u32 words = d->kernel.kernarg_preload & 0x7f, offset = d->kernel.kernarg_preload >> 7 & 0x1ff;
    Span span;
    u64 from = d->kernarg + 4 * offset;
    if (words && at + words <= 102 && memory_span(w->worker->memory, from, 4 * words, &span))
        memcpy(&w->s[at], (const void *)from, 4 * words);
}

static void set_scalars(Wave *w, const Dispatch *d)
{
    u32 use = d->kernel.properties, at = 0;
    if (use & USE_PRIVATE_SEGMENT_BUFFER)
        at += 4;
    if (use & USE_DISPATCH_PTR)
        at = user_pair(w, at, d->dispatch_packet);
    if (use & USE_QUEUE_PTR)
        at = user_pair(w, at, d->queue);
    if (use & USE_KERNARG_PTR)
        at = user_pair(w, at, d->kernarg);
    if (use & USE_DISPATCH_ID)
        at = user_pair(w, at, 0);
    if (use & USE_FLAT_SCRATCH)
        at = user_pair(w, at, 0);
    if (use & USE_PRIVATE_SEGMENT_SIZE)
        w->s[at++] = d->kernel.scratch_bytes;
    preload(w, d, at);
    at = d->kernel.rsrc2 >> 1 & 31; /* all user SGPRs */
    for (int k = 0; k < 3; k++)
        if (d->kernel.rsrc2 >> (7 + k) & 1)
            w->s[at++] = w->workgroup[k];
}

/* Rounding and denormal modes that the kernel starts with; DX10_CLAMP and IEEE above them. */
static u32 initial_mode(const KernelCode *k)
{
    return (k->rsrc1 >> 12 & 0xff) | (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9;
}

/* EXEC and v0 of a wave: work-items in order, x fastest; x, y and z are packed into v0, ten bits each. */
static void set_lanes(Wave *w, const u32 *block, u32 first)
{
    u32 items = work_items(block);
    u64 exec = 0;
    for (u32 l = 0; l < LANES && first + l < items; l++) {
        u32 id = first + l;
        exec |= 1ull << l;
        w->v[0][l] = id % block[0] | (id / block[0] % block[1]) << 10 | (id / block[0] / block[1]) << 20;
    }
    put_scalar_pair(w, SGPR_EXEC, exec);
}

/* ---- one workgroup ---- */

/* The last workgroup of a dimension may be smaller. */
static void block_of(const Dispatch *d, const u32 *workgroup, u32 *block)
{
    for (int k = 0; k < 3; k++) {
        u32 left = d->grid[k] - workgroup[k] * d->block[k];
        block[k] = d->grid[k] && left < d->block[k] ? left : d->block[k];
    }
}

static u32 start_waves(Thread *t, u64 number)
{
    const Dispatch *d = t->launch->dispatch;
    u32 id[3] = {(u32)(number % d->workgroups[0]), (u32)(number / d->workgroups[0] % d->workgroups[1]),
                 (u32)(number / d->workgroups[0] / d->workgroups[1])};
    u32 block[3];
    block_of(d, id, block);
    u32 count = (work_items(block) + LANES - 1) / LANES;
    for (u32 k = 0; k < count; k++) {
        Wave *w = &t->waves[k];
        memset(w, 0, sizeof *w);
        w->v = t->registers + (u64)k * VECTOR_REGISTERS;
        memset(w->v, 0, (u64)VECTOR_REGISTERS * sizeof *w->v);
        w->lds = t->lds;
        w->lds_bytes = lds_bytes_of(d);
        w->scratch = t->scratch + (u64)k * LANES * d->kernel.scratch_bytes;
        w->scratch_bytes = d->kernel.scratch_bytes;
        w->index = k;
        w->worker = &t->worker;
        w->program = d->program;
        w->mode = initial_mode(&d->kernel);
        memcpy(w->workgroup, id, sizeof id);
        u64 entry = d->kernel.entry - d->program->address;
        w->pc = d->program->index_of[entry / 4];
        set_scalars(w, d);
        set_lanes(w, block, k * LANES);
    }
    memset(t->lds, POISON, lds_bytes_of(d));
    memset(t->scratch, POISON, (u64)count * LANES * d->kernel.scratch_bytes);
    return count;
}

/* The host's rounding and denormals follow the MODE register's f32 fields; f64 and f16 keep their denormals only with f32. */
static void set_host_mode(u32 mode)
{
    static const u32 rounding[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP, _MM_ROUND_DOWN, _MM_ROUND_TOWARD_ZERO};
    u32 flush = (mode >> 4 & 3) == 0 ? 0x8040u : 0; /* FTZ and DAZ */
    _mm_setcsr((_mm_getcsr() & ~(0x8040u | _MM_ROUND_MASK)) | rounding[mode & 3] | flush);
}

/* Until the wave stops or its turn is over. */
static void run_turn(Wave *w)
{
    Worker *k = w->worker;
    const Inst *code = w->program->code;
    w->stop = STOP_NONE;
    k->budget = QUANTUM;
    k->clock += QUANTUM;
    set_host_mode(w->mode);
    while (w->stop == STOP_NONE && k->budget) {
        const Inst *i = &code[w->pc];
        Tally *t = &k->tally[w->pc++];
        k->budget--;
        t->executions++;
        t->lanes += (u64)__builtin_popcountll(exec_mask(w));
        i->run(w, i);
    }
    k->clock -= k->budget;
    k->budget = 0;
}

/* Everybody who is left has come to the barrier: waves that have ended are not waited for. */
static void open_barrier(Wave *waves, u32 count)
{
    for (u32 k = 0; k < count; k++)
        if (!waves[k].ended && !waves[k].at_barrier)
            return;
    for (u32 k = 0; k < count; k++)
        waves[k].at_barrier = false;
}

/* True when the step limit is passed. */
static bool count_steps(Launch *l, u64 steps)
{
    u64 limit = l->dispatch->step_limit;
    return limit && atomic_fetch_add(&l->steps, steps) + steps > limit;
}

static void stop_for_steps(Wave *w)
{
    u32 at = w->pc < w->program->count ? w->pc : w->program->count;
    wave_fault(w, &w->program->code[at], OUTCOME_STEP_LIMIT, SPACE_GLOBAL, 0, 0, 0, false);
}

/* False when a wave faulted. */
static bool run_workgroup(Thread *t, u32 count)
{
    for (u32 left = count; left;) {
        for (u32 k = 0; k < count; k++) {
            Wave *w = &t->waves[k];
            if (w->ended || w->at_barrier)
                continue;
            u64 before = t->worker.clock;
            run_turn(w);
            if (w->stop != STOP_FAULT && count_steps(t->launch, t->worker.clock - before))
                stop_for_steps(w);
            if (w->stop == STOP_FAULT)
                return false;
            w->ended = w->stop == STOP_END;
            w->at_barrier = w->stop == STOP_BARRIER;
            left -= w->ended;
        }
        open_barrier(t->waves, count);
        if (atomic_load_explicit(&t->launch->stop, memory_order_relaxed))
            return true;
    }
    return true;
}

/* ---- threads ---- */

static bool thread_open(Thread *t, Launch *l)
{
    const Dispatch *d = l->dispatch;
    t->launch = l;
    t->wave_room = (work_items(d->block) + LANES - 1) / LANES;
    t->waves = aligned_alloc(64, (t->wave_room * sizeof *t->waves + 63) / 64 * 64);
    t->registers = aligned_alloc(64, (u64)t->wave_room * VECTOR_REGISTERS * sizeof *t->registers);
    t->lds = aligned_alloc(64, (lds_bytes_of(d) + 127u) / 64 * 64);
    t->scratch = malloc((u64)t->wave_room * LANES * d->kernel.scratch_bytes + 64);
    t->worker = (Worker){.memory = l->memory, .dispatch = d, .count_memory = d->count_memory};
    t->worker.tally = calloc(d->program->count + 1, sizeof(Tally));
    t->out_of_memory = !(t->waves && t->registers && t->lds && t->scratch && t->worker.tally);
    return !t->out_of_memory;
}

static void thread_close(Thread *t)
{
    free(t->waves);
    free(t->registers);
    free(t->lds);
    free(t->scratch);
    free(t->worker.tally);
}

static void report_fault(Launch *l, const Fault *f)
{
    pthread_mutex_lock(&l->lock);
    if (l->fault.kind == OUTCOME_OK)
        l->fault = *f;
    pthread_mutex_unlock(&l->lock);
    atomic_store(&l->stop, true);
}

static void *thread_main(void *argument)
{
    Thread *t = argument;
    Launch *l = t->launch;
    u32 saved = _mm_getcsr();
    for (u64 number; !atomic_load(&l->stop) && (number = atomic_fetch_add(&l->next, 1)) < l->total;) {
        u32 count = start_waves(t, number);
        t->started += count;
        if (!run_workgroup(t, count))
            report_fault(l, &t->worker.fault);
    }
    _mm_setcsr(saved);
    return NULL;
}

static u32 thread_count(const Launch *l)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    u64 n = l->dispatch->deterministic ? 1 : l->dispatch->threads ? l->dispatch->threads : (u64)(cores > 0 ? cores : 1);
    n = n > l->total ? l->total : n;
    return n > MAX_THREADS ? MAX_THREADS : (u32)n;
}

static void run_threads(Thread *threads, u32 count)
{
    pthread_t handles[MAX_THREADS];
    u32 started = 1;
    while (started < count && pthread_create(&handles[started], NULL, thread_main, &threads[started]) == 0)
        started++;
    thread_main(&threads[0]); /* fewer threads than asked for do the same work */
    for (u32 k = 1; k < started; k++)
        pthread_join(handles[k], NULL);
}

/* ---- the launch ---- */

static void gather(const Launch *l, Thread *threads, u32 count, Outcome *out)
{
    const Program *p = l->dispatch->program;
    Tally *all = threads[0].worker.tally;
    u64 waves = threads[0].started;
    for (u32 k = 1; k < count; k++) {
        waves += threads[k].started;
        for (u32 n = 0; n < p->count; n++) {
            all[n].executions += threads[k].worker.tally[n].executions;
            all[n].lanes += threads[k].worker.tally[n].lanes;
        }
    }
    counters_gather(p, all, waves, out->counters);
    for (u32 k = 0; k < count; k++)
        counters_add_worker(&threads[k].worker, out->counters);
    if (!l->dispatch->count_pcs)
        return;
    out->pc_executions = malloc((p->count + 1) * sizeof *out->pc_executions);
    out->pc_addresses = malloc((p->count + 1) * sizeof *out->pc_addresses);
    for (u32 n = 0; n < p->count && out->pc_executions && out->pc_addresses; n++) {
        out->pc_executions[n] = all[n].executions;
        out->pc_addresses[n] = p->address + p->offset_of[n];
    }
    out->pc_count = out->pc_executions && out->pc_addresses ? p->count : 0;
}

static bool entry_is_code(const Dispatch *d)
{
    const Program *p = d->program;
    u64 offset = d->kernel.entry - p->address;
    return offset % 4 == 0 && offset < p->bytes && p->index_of[offset / 4] != ~0u;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void dispatch_run(Memory *m, const Dispatch *d, Outcome *out)
{
    Launch l = {.memory = m, .dispatch = d, .total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2],
                .lock = PTHREAD_MUTEX_INITIALIZER};
    double start = seconds_now();
    memset(out, 0, sizeof *out);
    if (!entry_is_code(d)) {
        out->fault = (Fault){.kind = OUTCOME_BAD_PC, .pc = d->kernel.entry, .address = d->kernel.entry};
        return;
    }
    if (!l.total)
        return;
    u32 count = thread_count(&l), ready = 0;
    Thread *threads = calloc(count, sizeof *threads);
    while (threads && ready < count && thread_open(&threads[ready], &l))
        ready++;
    if (ready) {
        run_threads(threads, ready);
        gather(&l, threads, ready, out);
        out->fault = l.fault;
    } else {
        out->fault = (Fault){.kind = OUTCOME_NOT_EMULATED, .pc = d->kernel.entry,
                             .instruction = "(the host has not enough memory for one workgroup)"};
    }
    for (u32 k = 0; threads && k < count; k++)
        thread_close(&threads[k]);
    free(threads);
    out->seconds = seconds_now() - start;
}
