#include "run/wave.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "checks/checks.h"
#include "host/float_mode.h"
#include "machine/access.h"
#include "machine/fault.h"
#include "machine/mode.h"
#include "memory/arena.h"
#include "model/l1.h"
#include "run/kernel_code.h"
#include "run/schedule.h"
#include "timing/record.h"

/* One wave's registers: 512 rows, and a skew so that the same register of several waves shares no cache set. */
enum { REGISTER_BYTES = VECTOR_REGISTERS * LANES * 4, REGISTER_STRIDE = REGISTER_BYTES + 17 * 256 };
enum { DRAWN_SCALARS = SGPR_VCC };
enum { POISON = 0xff }; /* LDS holds garbage at first on hardware; all ones is a NaN in every format but FP8 */

/* A kernel that recurses or calls unknown functions has no static size. */
static u32 scratch_bytes(const Dispatch *d)
{
    enum { USES_DYNAMIC_STACK = 1 << 11, DYNAMIC_STACK_BYTES = 16384 };
    bool grows = d->kernel.properties & USES_DYNAMIC_STACK && d->kernel.scratch_bytes < DYNAMIC_STACK_BYTES;
    return grows ? DYNAMIC_STACK_BYTES : d->kernel.scratch_bytes;
}

static u8 *reserve(u64 bytes)
{
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

enum { LDS_SPARE = 1280 }; /* the largest granule of LDS */

bool wave_group_create(Group *g, const Worker *k)
{
    const Dispatch *d = k->dispatch;
    u64 waves = kernel_group_waves(d);
    *g = (Group){.registers_bytes = waves * REGISTER_STRIDE,
                 .lds_room = (u64)d->kernel.lds_bytes + d->dynamic_lds_bytes,
                 .scratch_room = waves * LANES * scratch_bytes(d)};
    g->waves = aligned_alloc(64, waves * sizeof(Wave));
    g->registers = reserve(g->registers_bytes);
    g->lds = reserve(g->lds_room + LDS_SPARE);
    g->scratch = reserve(g->scratch_room);
    bool traced = k->view != NULL;
    g->trace = traced ? l1_group_create((u32)waves) : NULL;
    bool shadowed = checks_group_create(&g->shadow, k, (u32)g->lds_room);
    if (g->waves && g->registers && g->lds && g->scratch && shadowed && (g->trace || !traced)) {
        memset(g->waves, 0, waves * sizeof(Wave));
        return true;
    }
    wave_group_destroy(g, d);
    return false;
}

void wave_group_destroy(Group *g, const Dispatch *d)
{
    (void)d;
    l1_group_destroy(g->trace);
    checks_group_destroy(&g->shadow);
    free(g->waves);
    if (g->registers)
        munmap(g->registers, g->registers_bytes);
    if (g->lds)
        munmap(g->lds, g->lds_room + LDS_SPARE);
    if (g->scratch)
        munmap(g->scratch, g->scratch_room ? g->scratch_room : 1);
    *g = (Group){0};
}

void wave_groups_destroy(Group **groups, u32 count, const Dispatch *d)
{
    for (u32 n = 0; n < count; n++) {
        wave_group_destroy(groups[n], d);
        free(groups[n]);
    }
}

/* ---- initial state.  LLVM AMDGPUUsage, "Initial Kernel Execution State". ---- */

enum {
    HAS_PRIVATE_BUFFER = 1, HAS_DISPATCH_POINTER = 2, HAS_QUEUE_POINTER = 4, HAS_KERNARG_POINTER = 8,
    HAS_DISPATCH_ID = 16, HAS_FLAT_SCRATCH = 32, HAS_PRIVATE_SIZE = 64,
};

static u32 preload_length(const Dispatch *d) { return d->kernel.kernarg_preload & 127; }

static void set_user_sgprs(Wave *w, const Dispatch *d)
{
    u32 has = d->kernel.properties, at = 0;
    if (has & HAS_PRIVATE_BUFFER) {
        memcpy(w->s, private_buffer, sizeof private_buffer);
        at = 4;
    }
    const struct { u32 bit; u64 value; } pointers[] = {
        {HAS_DISPATCH_POINTER, d->dispatch_packet}, {HAS_QUEUE_POINTER, d->queue}, {HAS_KERNARG_POINTER, d->kernarg},
        {HAS_DISPATCH_ID, d->dispatch_id}, {HAS_FLAT_SCRATCH, 0},
    };
    for (u32 k = 0; k < sizeof pointers / sizeof *pointers; k++)
        if (has & pointers[k].bit) {
            put_scalar_pair(w, at, pointers[k].value);
            at += 2;
        }
    if (has & HAS_PRIVATE_SIZE)
        w->s[at++] = scratch_bytes(d);
    u32 offset = d->kernel.kernarg_preload >> 7 & 511;
    for (u32 k = 0; k < preload_length(d) && at < 32; k++) {
        u64 address = d->kernarg + 4 * (offset + k);
        Span span;
        if (memory_span(w->worker->memory, address, 4, &span))
            memcpy(&w->s[at], (const void *)address, 4);
        at++;
    }
}

/* RDNA4 has the workgroup's numbers in trap registers, and in one field the wave's number in it. What else they hold is
 * not known: operands_known() refuses to read it.  LLVM, SIISelLowering, lowerWorkGroupId() and lowerWaveID(). */
static void set_workgroup_ttmps(Wave *w)
{
    w->s[SGPR_TTMP + 9] = w->workgroup[0];
    w->s[SGPR_TTMP + 8] = w->index << TTMP8_WAVE_AT;
    w->s[SGPR_TTMP + 7] = w->workgroup[1] | w->workgroup[2] << 16;
}

/* Whether it is the first wave, and the number of waves. The field for ordered appends is 0 outside graphics. */
static u32 workgroup_info(const Wave *w, const Group *g) { return (u32)(w->index == 0) << 31 | g->wave_count; }

static void set_workgroup_sgprs(Wave *w, const Group *g, const Dispatch *d)
{
    enum { WORKGROUP_INFO = 1 << 10 };
    if (d->program->generation >= GFX12) {
        set_workgroup_ttmps(w);
        return;
    }
    u32 at = kernel_user_scalars(d);
    for (int axis = 0; axis < 3; axis++)
        if (d->kernel.rsrc2 >> (7 + axis) & 1)
            w->s[at++] = w->workgroup[axis];
    if (d->kernel.rsrc2 & WORKGROUP_INFO)
        w->s[at++] = workgroup_info(w, g);
    while (at < kernel_first_scalars(d)) /* the wave's offset in scratch, which is not shared here */
        w->s[at++] = 0;
}

static u32 initial_mode(const Dispatch *d)
{
    u32 r = d->kernel.rsrc1;
    if (d->program->generation >= GFX12) /* bits 21 and 23 mean something else there */
        return (r >> 12 & 0xff) | (r >> 26 & 1) << 23;
    return (r >> 12 & 0xff) | (r >> 21 & 1) << 8 | (r >> 23 & 1) << 9 | (r >> 26 & 1) << 23;
}

/*
 * On hardware a wave finds in registers and private memory what other waves have left there. Here both are drawn for each
 * wave of each launch, so that they tell a kernel nothing, neither of earlier waves nor by always being zero.
 */

static void draw_rows(u32 (*rows)[LANES], u32 count, u64 key, const u32 *lanes)
{
    for (u32 r = 0; r < count; r++) {
        u32 drawn = (u32)schedule_mix(key + r);
        for (u32 l = 0; l < LANES; l++)
            rows[r][l] = lanes[l] ^ drawn;
    }
}

static void draw_registers(Wave *w, const Dispatch *d, u64 key)
{
    u32 vectors, accumulators, lanes[LANES];
    for (u32 n = 0; n < DRAWN_SCALARS; n++)
        w->s[n] = (u32)schedule_mix(key + n);
    w->s[SGPR_VCC] = (u32)schedule_mix(key + SGPR_VCC);
    w->s[SGPR_VCC + 1] = (u32)schedule_mix(key + SGPR_VCC + 1);
    w->s[SGPR_M0] = (u32)schedule_mix(key + SGPR_M0);
    w->scc = schedule_mix(key + SOURCE_SCC) & 1;
    for (u32 l = 0; l < LANES; l++)
        lanes[l] = (u32)schedule_mix(key + FIRST_VGPR + l);
    kernel_registers(d, &vectors, &accumulators);
    draw_rows(w->v, vectors, key + FIRST_AGPR, lanes);
    draw_rows(w->v + 256, accumulators, key + 2 * FIRST_AGPR, lanes);
}

/* What the wave that was here before has stored in private memory. */
static void overwrite_scratch(Wave *w, u32 stored, u64 key)
{
    for (u32 l = 0; stored && l < LANES; l++)
        memset(w->scratch + (u64)l * w->scratch_bytes, (int)(key & 0xff) | 1, stored);
}

/* v0 holds the ids within the workgroup, ten bits for each axis. */
static void set_work_items(Wave *w, const u32 *size)
{
    u32 lanes = wave_lanes(w), first = w->index * lanes, total = size[0] * size[1] * size[2];
    u64 exec = 0;
    for (u32 l = 0; l < lanes && first + l < total; l++) {
        u32 t = first + l;
        exec |= 1ull << l;
        w->v[0][l] = t % size[0] | t / size[0] % size[1] << 10 | t / size[0] / size[1] << 20;
    }
    put_scalar_pair(w, SGPR_EXEC, exec);
    u32 all_active = (u32)__builtin_popcountll(exec);
    w->worker->events.items += all_active;
    for (u32 k = 0; k < 4; k++)
        w->worker->events.waves_under[k] += all_active < LANES - 16 * k;
}

static void wave_start(Group *g, Worker *k, u32 index, const u32 *workgroup, const u32 *size)
{
    enum { PRELOAD_PROLOGUE = 256 }; /* loads the same arguments for firmware that cannot preload */
    const Dispatch *d = k->dispatch;
    Wave *w = &g->waves[index];
    u64 key = schedule_mix(d->leftovers ^ schedule_mix(g->number << 8 | index) ^ d->schedule_seed);
    u32 stored = w->scratch_stored;
    memset(w, 0, sizeof *w);
    w->v = (u32(*)[LANES])(g->registers + (u64)index * REGISTER_STRIDE);
    w->lds = g->lds;
    w->lds_bytes = (u32)g->lds_room;
    w->scratch_bytes = scratch_bytes(d);
    w->scratch = g->scratch + (u64)index * LANES * w->scratch_bytes;
    w->index = index;
    w->signals = &g->signals;
    memcpy(w->workgroup, workgroup, sizeof w->workgroup);
    w->worker = k;
    w->trace = l1_group_wave(g->trace, index);
    w->shadow = g->shadow;
    w->program = d->program;
    w->compiled = d->interpreted ? NULL : d->program->compiled;
    w->constants = (const u32(*)[2 * LANES])d->program->constants;
    w->bases[BASE_REGISTERS] = (const u8 *)w->v;
    w->bases[BASE_CONSTANTS] = (const u8 *)w->constants;
    w->bases[BASE_SCRATCH_ROWS] = (const u8 *)k->scratch_row;
    w->wave32 = d->program->wave32;
    w->all_lanes = w->wave32 ? 0xffffffff : ~0ull;
    w->mode = initial_mode(d);
    u64 entry = d->kernel.entry + (preload_length(d) ? PRELOAD_PROLOGUE : 0), offset = entry - d->program->address;
    w->pc = offset < d->program->bytes ? d->program->index_of[offset / 4] : ~0u;
    if (w->pc == ~0u)
        w->pc = d->program->count;
    draw_registers(w, d, key);
    overwrite_scratch(w, stored, key);
    set_user_sgprs(w, d);
    set_workgroup_sgprs(w, g, d);
    set_work_items(w, size);
}

u32 wave_group_start(Group *g, Worker *k, u64 number)
{
    const Dispatch *d = k->dispatch;
    u64 plane = (u64)d->workgroups[0] * d->workgroups[1];
    u32 workgroup[3] = {(u32)(number % d->workgroups[0]), (u32)(number % plane / d->workgroups[0]),
                        (u32)(number / plane)}, size[3];
    for (int axis = 0; axis < 3; axis++) {
        u64 left = (u64)d->grid[axis] - (u64)workgroup[axis] * d->block[axis];
        size[axis] = left < d->block[axis] ? (u32)left : d->block[axis];
    }
    memset(g->lds, POISON, g->lds_room);
    g->number = number;
    g->wave_count = kernel_waves_for(d, size[0] * size[1] * size[2]);
    checks_group_start(g->shadow, k, number, g->wave_count);
    for (u32 n = 0; n < g->wave_count; n++)
        wave_start(g, k, n, workgroup, size);
    g->live = g->wave_count;
    g->signals = g->passed = 0;
    g->busy = true;
    return g->wave_count;
}

/* ---- the loop ---- */

/* Count instructions first..end-1 once, with this EXEC. The counts hold differences, see pc_counts_sum(). */
static void count_run(Worker *k, u32 first, u32 end, u64 exec)
{
    u64 lanes = (u64)__builtin_popcountll(exec);
    k->pc_counts[first].executions++;
    k->pc_counts[first].lanes += lanes;
    k->pc_counts[end].executions--;
    k->pc_counts[end].lanes -= lanes;
}

/* From `i` to `end`, or until one of them stops the wave. Returns the next one. */
static inline __attribute__((always_inline)) const Inst *run_straight(Wave *w, const Inst *i, const Inst *end,
                                                                      const bool all_active)
{
    do {
        w->at = i;
        (all_active ? i->all_active : i->run)(w, i);
        i += i->steps;
    } while (i < end && likely(w->stop == STOP_NONE));
    return i;
}

static inline const Inst *end_of_run(const Inst *i, i64 left) { return i + (i->straight < left ? i->straight : left); }

static inline const Inst *run_all_active(Wave *w, const Inst *i, i64 left)
{
    CompiledRun *run = w->compiled && i->straight <= left ? w->compiled[i - w->program->code] : NULL;
    return likely(run != NULL) ? run(w) : run_straight(w, i, end_of_run(i, left), true);
}

/* Instructions follow each other, and are counted together, until a branch is taken or EXEC changes. The budget is
 * checked once per straight run: the last one may exceed it by the waits that it skips. */
static void run_plain(Wave *w)
{
    Worker *k = w->worker;
    const Inst *code = w->program->code, *i = code + w->pc;
    u64 exec = exec_mask(w);
    i64 left = (i64)k->budget;
    u32 first = w->pc;
    while (w->stop == STOP_NONE && left > 0) {
        if (likely(i->straight)) {
            const Inst *start = i;
            i = exec == w->all_lanes ? run_all_active(w, i, left) : run_straight(w, i, end_of_run(i, left), false);
            left -= i - start;
            continue;
        }
        u32 pc = (u32)(i - code) + 1;
        w->pc = pc;
        w->at = i;
        k->budget = (u64)left--;
        i->run(w, i);
        i++;
        if (w->pc != pc || exec_mask(w) != exec) {
            count_run(k, first, pc, exec);
            first = w->pc;
            exec = exec_mask(w);
            i = code + first;
        }
    }
    w->pc = (u32)(i - code);
    count_run(k, first, w->pc, exec);
    k->budget = left > 0 ? (u64)left : 0;
    if (w->stop == STOP_NONE)
        w->stop = STOP_YIELD;
}

static bool is_scalar_float(const Row *r)
{
    bool floats = r->result == TYPE_F32 || r->result == TYPE_F16 || r->source[0] == TYPE_F32 || r->source[0] == TYPE_F16;
    return r->family == FAMILY_SALU && floats;
}

/* The registers that M0 selects for an indexed instruction; false when they are outside the file. */
static bool indexed(const Wave *w, const Inst *i, Inst *out)
{
    u32 offset = w->s[SGPR_M0] & 0xff;
    *out = *i;
    for (u32 k = 0; k < 4; k++) {
        u16 *operand = k < 3 ? &out->source[k] : &out->dst;
        bool plain = *operand >= FIRST_VGPR && *operand < FIRST_AGPR;
        if (!(w->indexing >> k & 1) || !plain)
            continue;
        if (*operand + offset + 1 >= FIRST_AGPR) /* a pair must fit as well */
            return false;
        *operand = (u16)(*operand + offset);
        if (k < LANE_SOURCES)
            out->upper[k] = (u16)(out->upper[k] + offset);
    }
    return true;
}

static void run_vector(Wave *w, const Inst *i)
{
    Inst moved;
    if (!w->indexing)
        i->run(w, i);
    else if (indexed(w, i, &moved))
        moved.run(w, &moved);
    else
        fault_not_emulated(w, i);
}

/* Vector instructions under another MODE than the host's own, or with indexed registers. */
static void run_special(Wave *w, const Inst *i)
{
    if (mode_is_beyond_us(w, i)) {
        fault_not_emulated(w, i);
        return;
    }
    float_mode_set(mode_of_host(w, i));
    run_vector(w, i);
    float_mode_set(FLOAT_MODE_PLAIN);
    if (mode_spoils_result(w, i))
        fault_not_emulated(w, i);
}

static bool is_vector(const Row *r)
{
    switch (r->family) {
    case FAMILY_VALU: case FAMILY_MFMA: case FAMILY_LDS: case FAMILY_GLOBAL: case FAMILY_SCRATCH: case FAMILY_FLAT:
    case FAMILY_BUFFER:
        return true;
    default:
        return !strncmp(r->mnemonic, "ds_", 3); /* global wave sync */
    }
}

/* Passes over an instruction that MODE forbids; it is not counted either. */
static bool skipped(Wave *w, const Inst *i)
{
    if (likely(!(w->mode & MODE_VSKIP)) || !is_vector(i->row))
        return false;
    w->pc++;
    if (unlikely(--w->worker->budget == 0))
        w->stop = STOP_YIELD;
    return true;
}

static void execute(Wave *w, const Inst *i)
{
    if (i->row->family == FAMILY_VALU || is_scalar_float(i->row))
        run_special(w, i);
    else
        i->run(w, i);
}

/* One by one: where the mode asks for it, or what the wave does is recorded. */
static void run_in_mode(Wave *w)
{
    Worker *k = w->worker;
    while (w->stop == STOP_NONE) {
        const Inst *i = w->at = &w->program->code[w->pc];
        if (skipped(w, i))
            continue;
        count_run(k, w->pc, w->pc + 1, exec_mask(w));
        w->pc++;
        if (w->steps)
            record_run(w, i, w->pc - 1, execute);
        else
            execute(w, i);
        if (unlikely(--k->budget == 0) && w->stop == STOP_NONE)
            w->stop = STOP_YIELD;
    }
}

/* As long as checks want to see every instruction. */
static void run_followed(Wave *w)
{
    Worker *k = w->worker;
    while (w->stop == STOP_NONE && checks_follow(w)) {
        const Inst *i = w->at = &w->program->code[w->pc];
        if (skipped(w, i))
            continue;
        count_run(k, w->pc, w->pc + 1, exec_mask(w));
        checks_before(w, i);
        w->pc++;
        if (i->row->family == FAMILY_VALU && !(mode_is_plain(w) && !w->indexing))
            run_special(w, i);
        else
            i->run(w, i);
        checks_after(w, i);
        if (unlikely(--k->budget == 0) && w->stop == STOP_NONE)
            w->stop = STOP_YIELD;
    }
    if (w->stop == STOP_NONE)
        w->stop = STOP_MODE;
}

/* What other waves or the host could see of it, or that waits for them. */
static bool acts_outside(const Inst *i)
{
    switch (i->row->family) {
    case FAMILY_GLOBAL: case FAMILY_FLAT: case FAMILY_BUFFER: return i->row->detail[2] != ACCESS_LOAD;
    case FAMILY_SMEM: return strstr(i->row->mnemonic, "load") == NULL;
    case FAMILY_BARRIER: return true;
    default: return !strncmp(i->row->mnemonic, "ds_gws", 6) || !strncmp(i->row->mnemonic, "s_sendmsg", 9);
    }
}

void wave_peek(Wave *w, u32 most)
{
    u64 before = float_mode_get();
    float_mode_set(FLOAT_MODE_PLAIN);
    w->worker->budget = most;
    for (w->stop = STOP_NONE; most && w->stop == STOP_NONE; most--) {
        const Inst *i = w->at = &w->program->code[w->pc++];
        if (acts_outside(i))
            continue;
        execute(w, i);
        if (w->stop == STOP_MODE || w->stop == STOP_YIELD)
            w->stop = STOP_NONE;
    }
    float_mode_set(before);
}

void wave_run(Wave *w)
{
    u64 before = float_mode_get();
    float_mode_set(FLOAT_MODE_PLAIN);
    do {
        w->stop = STOP_NONE;
        if (unlikely(checks_follow(w)))
            run_followed(w);
        else if (mode_is_plain(w) && !w->indexing && !w->steps)
            run_plain(w);
        else
            run_in_mode(w);
        if (w->stop == STOP_MODE && !w->worker->budget)
            w->stop = STOP_YIELD;
    } while (w->stop == STOP_MODE);
    float_mode_set(before);
}
