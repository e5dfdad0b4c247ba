/*
 * From a launch call to a dispatch. The checks and their order are those of AMD's runtime (clr 6.4,
 * ihipLaunchKernel_validate), with one addition: static and dynamic LDS together beyond the workgroup's limit are
 * hipErrorLaunchOutOfResources.
 */
#include "device.h"
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HSA kernel dispatch packet. Source: HSA Runtime Specification 1.2, 2.9.6. */
typedef struct {
    u16 header, setup, workgroup[3], reserved0;
    u32 grid[3], private_bytes, group_bytes;
    u64 kernel_object, kernarg, reserved1, completion_signal;
} DispatchPacket;
_Static_assert(sizeof(DispatchPacket) == 64, "an AQL packet has 64 bytes");

/* One block of device memory for the packet and the arguments: launches follow one another, so it is used again. */
static u64 record_block;
static u64 record_bytes;

static u64 launch_record(u32 kernarg_bytes)
{
    u64 wanted = sizeof(DispatchPacket) + ((kernarg_bytes + 4095ull) & ~4095ull);
    if (wanted > record_bytes) {
        if (record_block)
            memory_release(runtime()->memory, record_block);
        record_block = memory_allocate(runtime()->memory, wanted);
        record_bytes = record_block ? wanted : 0;
    }
    return record_block;
}

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
    u64 workgroup = (u64)s->block[0] * s->block[1];
    workgroup = workgroup > MAX_WORKGROUP ? workgroup : workgroup * s->block[2];
    if (workgroup > MAX_WORKGROUP)
        return hipErrorInvalidConfiguration;
    if (!parameters && !extra && f->kernel->argument_count && f->kernel->arguments[0].kind == ARGUMENT_EXPLICIT)
        return hipErrorInvalidValue;
    if (f->kernel->max_workgroup && workgroup > f->kernel->max_workgroup)
        return hipErrorLaunchFailure; /* beyond __launch_bounds__ */
    if (s->dynamic_lds_bytes + (u64)f->code.lds_bytes > device()->lds_bytes)
        return hipErrorLaunchOutOfResources;
    return hipSuccess;
}

/* Kernels of one file may have waves of both sizes, and the same code means another thing to each. */
static Program **program_of(const Function *f) { return &f->object->program[kernel_wave_size(&f->code) == 32]; }

static hipError_t decode(const Function *f)
{
    char error[256] = "";
    Program **program = program_of(f);
    const CodeObject *c = f->object;
    if (*program)
        return hipSuccess;
    *program = program_decode(c->arch, kernel_wave_size(&f->code), c->text, c->text_bytes, error, sizeof error);
    if (*program)
        return hipSuccess;
    fprintf(stderr, "amdkernel emulator: %s\n", error);
    return hipErrorNotSupported;
}

static hipError_t fault_code(OutcomeKind kind)
{
    switch (kind) {
    case OUTCOME_OK: return hipSuccess;
    case OUTCOME_OUT_OF_BOUNDS: case OUTCOME_MISALIGNED: case OUTCOME_READ_ONLY: case OUTCOME_BAD_PC:
        return hipErrorIllegalAddress;
    case OUTCOME_NOT_EMULATED: return hipErrorNotSupported;
    case OUTCOME_STEP_LIMIT: case OUTCOME_DEADLOCK: return hipErrorLaunchTimeOut;
    case OUTCOME_TRAP: return hipErrorAssert;
    }
    return hipErrorUnknown;
}

static void write_packet(u64 at, const Function *f, const LaunchShape *s, u64 kernarg)
{
    enum { TYPE_KERNEL_DISPATCH = 2 };
    DispatchPacket packet = {
        .header = TYPE_KERNEL_DISPATCH,
        .setup = 3,
        .private_bytes = f->code.scratch_bytes,
        .group_bytes = f->code.lds_bytes + s->dynamic_lds_bytes,
        .kernel_object = code_object_symbol(f->object, f->kernel->symbol)->address,
        .kernarg = kernarg,
    };
    for (int d = 0; d < 3; d++) {
        packet.workgroup[d] = (u16)s->block[d];
        packet.grid[d] = s->grid[d];
    }
    memcpy((void *)(uintptr_t)at, &packet, sizeof packet);
}

static void run(Function *f, const LaunchShape *s, u64 record)
{
    const Options *o = &runtime()->options;
    Dispatch d = {
        .program = *program_of(f),
        .kernel = f->code,
        .dynamic_lds_bytes = s->dynamic_lds_bytes,
        .kernarg = record + sizeof(DispatchPacket),
        .dispatch_packet = record,
        .step_limit = o->step_limit,
        .threads = o->threads,
        .deterministic = o->deterministic,
        .count_memory = o->count_memory,
        .count_pcs = o->count_pcs,
        .caches = runtime()->caches,
    };
    for (int i = 0; i < 3; i++) {
        d.grid[i] = s->grid[i];
        d.block[i] = s->block[i];
        d.workgroups[i] = (u32)(((u64)s->grid[i] + s->block[i] - 1) / s->block[i]);
    }
    Outcome outcome = {0};
    dispatch_run(runtime()->memory, &d, &outcome);
    report_dispatch(f, &d, &outcome);
    free(outcome.pcs);
    runtime()->fault = fault_code(outcome.fault.kind);
}

hipError_t launch(Function *f, const LaunchShape *shape, void **parameters, void **extra)
{
    hipError_t error = device_fault();
    if (error == hipSuccess)
        error = validate(f, shape, parameters, extra);
    if (error != hipSuccess)
        return error;
    runtime_lock();
    u64 record = launch_record(f->kernel->kernarg_bytes);
    error = record ? decode(f) : hipErrorOutOfMemory;
    if (error == hipSuccess) {
        u64 kernarg = record + sizeof(DispatchPacket);
        error = kernarg_fill((u8 *)(uintptr_t)kernarg, f->kernel, shape, parameters, extra);
        write_packet(record, f, shape, kernarg);
    }
    if (error == hipSuccess)
        run(f, shape, record);
    runtime_unlock();
    return error;
}

hipError_t launch_blocks(Function *f, dim3 blocks, dim3 block, size_t dynamic_lds_bytes, void **parameters,
                         void **extra)
{
    u64 items[3] = {(u64)blocks.x * block.x, (u64)blocks.y * block.y, (u64)blocks.z * block.z};
    LaunchShape shape = {.block = {block.x, block.y, block.z}};
    for (int d = 0; d < 3; d++) {
        if (items[d] > UINT32_MAX)
            return hipErrorInvalidConfiguration;
        shape.grid[d] = (u32)items[d];
    }
    shape.dynamic_lds_bytes = dynamic_lds_bytes > UINT32_MAX ? UINT32_MAX : (u32)dynamic_lds_bytes;
    return launch(f, &shape, parameters, extra);
}
