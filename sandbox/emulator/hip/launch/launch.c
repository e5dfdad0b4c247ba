/*
 * From a launch to a dispatch. The checks and their order are those of AMD's runtime (clr 6.4, ihipLaunchKernel_validate),
 * with one addition: static and dynamic LDS together beyond the workgroup's limit are hipErrorLaunchOutOfResources.
 */
#include "hip/launch/launch.h"

#include "hip/clock/clock.h"
#include "hip/devices/device.h"
#include "hip/launch/device_heap.h"
#include "hip/launch/hostcall.h"
#include "hip/launch/kernarg.h"
#include "hip/launch/occupancy.h"
#include "hip/launch/printf_buffer.h"
#include "hip/report/dispatch_report.h"
#include "hip/runtime/fault.h"
#include "hip/work/work_races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* HSA kernel dispatch packet. Source: HSA Runtime Specification 1.2, 2.9.6. */
typedef struct {
    u16 header, setup, workgroup[3], reserved0;
    u32 grid[3], private_bytes, group_bytes;
    u64 kernel_object, kernarg, reserved1, completion_signal;
} DispatchPacket;
_Static_assert(sizeof(DispatchPacket) == 64, "an AQL packet has 64 bytes");

/* What kernels synchronise their grid with. Source: ROCm device libraries, ockl/src/cg.cl (mg_info). */
typedef struct {
    u64 grids_barrier; /* the address of two words that all grids share, or 0 */
    u32 grid, grids;
    u64 items_before, items;
    u32 barrier[2];    /* of this grid */
    u32 workgroups, padding;
} GridSync;
_Static_assert(sizeof(GridSync) == 48, "the device libraries' structure");

/* What a launch needs in device memory: the packet, the arguments, and how the grid synchronises. */
typedef struct Record {
    u64 block, bytes;
    u64 printf;           /* a buffer, once a kernel needed one */
    struct Record *next;
} Record;

enum {
    RECORD_HEAD = sizeof(DispatchPacket) + sizeof(GridSync) + 16, /* the arguments are aligned to 64 bytes */
    RECORD_TAIL = 64,     /* that wide loads may read behind them */
};

static Record *free_records; /* launches that follow one another use the same record again */

static Record *record_take(void)
{
    Record *r = free_records;
    if (!r)
        return calloc(1, sizeof *r);
    free_records = r->next;
    return r;
}

static void record_give_back(Record *r)
{
    r->next = free_records;
    free_records = r;
}

static bool record_make(Record *r, u32 kernarg_bytes)
{
    u64 wanted = RECORD_HEAD + ((kernarg_bytes + RECORD_TAIL + 4095ull) & ~4095ull);
    if (wanted <= r->bytes)
        return true;
    if (r->block)
        memory_release(runtime()->memory, r->block);
    r->block = memory_allocate(runtime()->memory, wanted);
    r->bytes = r->block ? wanted : 0;
    return r->block != 0;
}

static u64 sync_of(const Record *r) { return r->block + sizeof(DispatchPacket); }
static u64 kernarg_of(const Record *r) { return r->block + RECORD_HEAD; }

static hipError_t validate(const Function *f, const LaunchShape *s, void **parameters, void **extra)
{
    if (!f)
        return hipErrorInvalidImage;
    if (parameters && extra)
        return hipErrorInvalidValue;
    for (int d = 0; d < 3; d++)
        if (s->grid[d] == 0 || s->block[d] == 0)
            return hipErrorInvalidConfiguration;
    if (s->dynamic_lds_bytes > device()->lds_bytes)
        return hipErrorInvalidValue;
    u64 plane = (u64)s->block[0] * s->block[1];
    u64 workgroup = plane > MAX_WORKGROUP ? plane : launch_shape_items(s);
    if (workgroup > MAX_WORKGROUP)
        return hipErrorInvalidConfiguration;
    if (!parameters && !extra && f->kernel->argument_count && f->kernel->arguments[0].kind == ARGUMENT_EXPLICIT)
        return hipErrorInvalidValue;
    if (f->kernel->max_workgroup && workgroup > f->kernel->max_workgroup)
        return hipErrorLaunchFailure; /* beyond __launch_bounds__ */
    if (s->dynamic_lds_bytes + (u64)f->code.lds_bytes > device()->lds_bytes)
        return hipErrorLaunchOutOfResources;
    if (s->cooperative && launch_shape_workgroups(s) > occupancy_resident(f, (u32)workgroup, s->dynamic_lds_bytes))
        return hipErrorCooperativeLaunchTooLarge;
    return hipSuccess;
}

hipError_t launch_check(const Function *f, const LaunchShape *shape, void **parameters, void **extra)
{
    hipError_t error = fault_latched();
    return error != hipSuccess ? error : validate(f, shape, parameters, extra);
}

/* Kernels of one file may have waves of both sizes, and the code is decoded differently for each. */
static Program **whole_program(const Function *f) { return &f->object->program[kernel_wave_size(&f->code) == 32]; }

static const Program *program_of(const Function *f) { return f->program ? f->program : *whole_program(f); }

/* Files with hundreds of kernels are common, and decoding all of them is slow. So a kernel is decoded from its entry to
 * the next symbol, and the whole file only if the kernel jumps elsewhere. */
static hipError_t decode(Function *f)
{
    char error[256] = "";
    const CodeObject *c = f->object;
    const char *arch = device()->arch; /* which also runs code of its generic processor */
    u32 wave_size = kernel_wave_size(&f->code);
    if (program_of(f))
        return hipSuccess;
    u64 entry = f->code.entry, bytes = code_object_text_after(c, entry) - entry;
    f->program = program_decode_kernel(arch, wave_size, c->text, c->text + c->text_bytes, entry, bytes, error,
                                       sizeof error);
    if (!f->program && !*error)
        *whole_program(f) = program_decode(arch, wave_size, c->text, c->text_bytes, error, sizeof error);
    if (program_of(f))
        return hipSuccess;
    fprintf(stderr, "amdkernel emulator: %s\n", error);
    return hipErrorNotSupported;
}

static hipError_t fault_code(OutcomeKind kind)
{
    switch (kind) {
    case OUTCOME_OK: return hipSuccess;
    case OUTCOME_OUT_OF_BOUNDS: case OUTCOME_MISALIGNED: case OUTCOME_READ_ONLY: case OUTCOME_BAD_PC:
    case OUTCOME_USE_AFTER_FREE:
        return hipErrorIllegalAddress;
    case OUTCOME_NOT_EMULATED: return hipErrorNotSupported;
    case OUTCOME_STEP_LIMIT: case OUTCOME_DEADLOCK: case OUTCOME_RESIDENCY: return hipErrorLaunchTimeOut;
    case OUTCOME_TRAP: return hipErrorLaunchFailure; /* assert, abort() and __builtin_trap(): one trap to the runtime */
    case OUTCOME_UNINITIALISED_READ: case OUTCOME_INPUT_MODIFIED: case OUTCOME_RACE:
    case OUTCOME_STATE_BETWEEN_LAUNCHES: case OUTCOME_MISSING_WAIT:
        return hipSuccess; /* findings */
    }
    return hipErrorUnknown;
}

static void write_packet(const Record *r, const Function *f, const LaunchShape *s)
{
    enum { TYPE_KERNEL_DISPATCH = 2 };
    DispatchPacket packet = {
        .header = TYPE_KERNEL_DISPATCH,
        .setup = 3,
        .private_bytes = f->code.scratch_bytes,
        .group_bytes = f->code.lds_bytes + s->dynamic_lds_bytes,
        .kernel_object = code_object_symbol(f->object, f->kernel->symbol)->address,
        .kernarg = kernarg_of(r),
    };
    for (int d = 0; d < 3; d++) {
        packet.workgroup[d] = (u16)s->block[d];
        packet.grid[d] = s->grid[d];
    }
    memcpy((void *)(uintptr_t)r->block, &packet, sizeof packet);
}

static bool wants(const Function *f, ArgumentKind kind)
{
    for (u32 i = 0; i < f->kernel->argument_count; i++)
        if (f->kernel->arguments[i].kind == kind)
            return true;
    return false;
}

/* The blocks for the kernel's hidden arguments. Most kernels have none of these arguments. */
static HiddenBlocks hidden_blocks(const Function *f, const LaunchShape *s, Record *r)
{
    return (HiddenBlocks){
        .hostcall = wants(f, ARGUMENT_HOSTCALL) ? hostcall_buffer() : 0,
        .printf = wants(f, ARGUMENT_PRINTF) ? printf_buffer(&r->printf) : 0,
        .heap = wants(f, ARGUMENT_HEAP) ? device_heap() : 0,
        .multigrid = s->cooperative ? sync_of(r) : 0,
    };
}

/* Decodes the program, and writes the launch's record in device memory. */
static hipError_t prepare(Function *f, const LaunchShape *s, void **parameters, void **extra, const GridSync *sync,
                          Record *r)
{
    hipError_t error = record_make(r, f->kernel->kernarg_bytes) ? decode(f) : hipErrorOutOfMemory;
    if (error != hipSuccess)
        return error;
    HiddenBlocks hidden = hidden_blocks(f, s, r);
    memset((void *)(uintptr_t)r->block, 0, r->bytes); /* nothing of an earlier launch is left in it */
    memcpy((void *)(uintptr_t)sync_of(r), sync, sizeof *sync);
    write_packet(r, f, s);
    return kernarg_fill((u8 *)(uintptr_t)kernarg_of(r), f->kernel, s, parameters, extra, &hidden);
}

static u32 explicit_bytes(const KernelMetadata *k)
{
    u32 end = 0;
    for (u32 n = 0; n < k->argument_count; n++) {
        const KernelArgument *a = &k->arguments[n];
        if (a->kind == ARGUMENT_EXPLICIT && a->offset + a->bytes > end)
            end = a->offset + a->bytes;
    }
    return end;
}

static u64 launches;

/* Another one for each launch, but the same when the whole process runs again with the same addresses. */
static u64 leftovers_seed(const Record *r)
{
    u64 arena, bytes;
    memory_arena(runtime()->memory, &arena, &bytes);
    return (r->block - arena) << 32 ^ ++launches;
}

static Dispatch dispatch_of(const Function *f, const LaunchShape *s, const Record *r)
{
    const Options *o = &runtime()->options;
    u64 dispatch_id = launches;
    Dispatch d = {
        .program = program_of(f),
        .kernel = f->code,
        .dynamic_lds_bytes = s->dynamic_lds_bytes,
        .kernarg = kernarg_of(r),
        .dispatch_packet = r->block,
        .record_bytes = r->bytes,
        .grid_sync = s->cooperative ? sync_of(r) : 0,
        .dispatch_id = dispatch_id,
        .leftovers = leftovers_seed(r),
        .step_limit = o->step_limit,
        .end_at = 1e-3 * (double)o->end_at_ms,
        .clock = runtime()->clock,
        .interrupt = hostcall_serve,
        .threads = o->threads,
        .deterministic = o->deterministic,
        .reproducible = o->reproducible,
        .limit_residency = o->limit_residency,
        .proves_hangs = o->proves_hangs,
        .count_memory = o->count_memory,
        .count_pcs = o->count_pcs,
        .list_ran = o->list_ran,
        .caches = runtime()->caches,
        .schedule_seed = o->schedule_seed,
        .check_memory = o->check_memory,
        .check_races = o->check_races,
        .races_every = o->races_every,
        .races_seed = o->races_seed,
        .last_waves_first = o->last_waves_first,
        .part_above = o->part_above,
        .sample_above = o->sample_above,
        .overruns = o->overruns,
        .interpreted = o->interpreted,
        .cooperative = s->cooperative,
        .kernarg_bytes = f->kernel->kernarg_bytes,
        .explicit_bytes = explicit_bytes(f->kernel),
    };
    device_heap_bounds(&d.heap, &d.heap_bytes);
    work_races_dispatch(f, &d);
    for (int i = 0; i < 3; i++) {
        d.grid[i] = s->grid[i];
        d.block[i] = s->block[i];
        d.workgroups[i] = (u32)(((u64)s->grid[i] + s->block[i] - 1) / s->block[i]);
    }
    return d;
}

/* A launch that has started. */
struct Launch {
    const Function *function;
    Record *record;
    Caches *caches;       /* those of the process, while no other launch has them */
    DispatchRun *run;
};

/* Called with the lock of the runtime, as conclude() is. */
static hipError_t begin(Function *f, const LaunchShape *s, void **parameters, void **extra, const GridSync *sync, Launch *l)
{
    *l = (Launch){.function = f, .record = record_take()};
    if (!l->record)
        return hipErrorOutOfMemory;
    hipError_t error = prepare(f, s, parameters, extra, sync, l->record);
    if (error == hipSuccess) {
        Dispatch d = dispatch_of(f, s, l->record);
        l->caches = d.caches;
        l->run = dispatch_begin(runtime()->memory, &d);
        error = l->run ? hipSuccess : hipErrorOutOfMemory;
    }
    if (error == hipSuccess)
        runtime()->caches = NULL;
    else
        record_give_back(l->record);
    return error;
}

/* The fault is the time limit of the process, which is killed in a moment: the program must not see an error that it has
 * no time to handle. */
static void await_the_end(void)
{
    for (;;)
        pause();
}

/* FNV-1a of its own arguments. */
static u64 arguments_hash(const Dispatch *d)
{
    u64 hash = 0xcbf29ce484222325;
    for (u32 i = 0; i < d->explicit_bytes; i++)
        hash = (hash ^ ((const u8 *)(uintptr_t)d->kernarg)[i]) * 0x100000001b3;
    return hash;
}

static void conclude(Launch *l)
{
    Outcome outcome;
    const Dispatch d = *dispatch_of_run(l->run);
    dispatch_end(l->run, &outcome);
    hostcall_serve(NULL);
    if (wants(l->function, ARGUMENT_PRINTF))
        printf_buffer_print(l->function->object, l->record->printf);
    double span_us[2] = {0};
    if (clock_is_simulated())
        clock_launch(l->function, arguments_hash(&d), outcome.counters, span_us);
    report_dispatch(l->function, &d, &outcome, clock_is_simulated() ? span_us : NULL);
    runtime()->instructions += outcome.counters[COUNTER_SQ_INSTS];
    if (outcome.process_ends)
        await_the_end();
    free(outcome.findings);
    free(outcome.pcs);
    free(outcome.ran);
    if (outcome.clock > runtime()->clock)
        runtime()->clock = outcome.clock;
    if (l->caches)
        runtime()->caches = l->caches;
    record_give_back(l->record);
    fault_latch(fault_code(outcome.fault.kind));
}

hipError_t launch_begin(Function *f, const LaunchShape *s, void **parameters, void **extra, Launch **out)
{
    hipError_t error = launch_check(f, s, parameters, extra);
    *out = NULL;
    if (error != hipSuccess)
        return error;
    Launch *l = malloc(sizeof *l);
    if (!l)
        return hipErrorOutOfMemory;
    const GridSync sync = {.items = launch_shape_workgroups(s) * launch_shape_items(s), .workgroups = (u32)launch_shape_workgroups(s)};
    runtime_lock();
    error = begin(f, s, parameters, extra, &sync, l);
    runtime_unlock();
    if (error == hipSuccess)
        *out = l;
    else
        free(l);
    return error;
}

bool launch_continue(Launch *l, double patience_s)
{
    if (!dispatch_continue(l->run, patience_s))
        return false;
    runtime_lock();
    conclude(l);
    runtime_unlock();
    free(l);
    return true;
}

/* ---- several devices at once ---- */

typedef struct {
    Launch launch;
    pthread_t thread;
    bool begun, started;
} Member;

static void *run_member(void *argument)
{
    Member *m = argument;
    dispatch_continue(m->launch.run, -1);
    return NULL;
}

static hipError_t begin_members(const GridOfMany *grids, u32 count, u64 barrier, Member *members)
{
    u64 items[MAX_DEVICES] = {0}, all = 0, before = 0;
    for (u32 i = 0; i < count; i++)
        all += items[i] = launch_shape_workgroups(&grids[i].shape) * launch_shape_items(&grids[i].shape);
    for (u32 i = 0; i < count; i++) {
        const GridOfMany *g = &grids[i];
        const GridSync sync = {.grids_barrier = barrier, .grid = i, .grids = count, .items_before = before, .items = all,
                               .workgroups = (u32)launch_shape_workgroups(&g->shape)};
        before += items[i];
        hipError_t error = launch_check(g->function, &g->shape, g->parameters, NULL);
        if (error == hipSuccess)
            error = begin(g->function, &g->shape, g->parameters, NULL, &sync, &members[i].launch);
        if (error != hipSuccess)
            return error;
        members[i].begun = true;
    }
    return hipSuccess;
}

hipError_t launch_together(const GridOfMany *grids, u32 count)
{
    Member members[MAX_DEVICES] = {0};
    runtime_lock();
    u64 barrier = memory_allocate(runtime()->memory, 2 * sizeof(u32));
    if (barrier)
        memset((void *)(uintptr_t)barrier, 0, 2 * sizeof(u32));
    hipError_t error = barrier ? begin_members(grids, count, barrier, members) : hipErrorOutOfMemory;
    runtime_unlock();
    for (u32 i = 0; i < count && error == hipSuccess; i++)
        members[i].started = pthread_create(&members[i].thread, NULL, run_member, &members[i]) == 0;
    for (u32 i = 0; i < count; i++)
        if (members[i].started)
            pthread_join(members[i].thread, NULL);
    runtime_lock();
    for (u32 i = 0; i < count; i++)
        if (members[i].begun)
            conclude(&members[i].launch);
    if (barrier)
        memory_release(runtime()->memory, barrier);
    runtime_unlock();
    return error;
}
