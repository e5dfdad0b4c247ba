/* Branches, barriers, the MODE register, and instructions without a functional effect. */
#include "isa/control.h"

#include "checks/observers.h"
#include "host/order.h"
#include "machine/fault.h"

static void jump(Wave *w, const Inst *i) { w->pc = i->target; w->worker->events.taken++; }

static void s_branch(Wave *w, const Inst *i) { jump(w, i); }

#define BRANCH(name, condition) static void name(Wave *w, const Inst *i) { if (condition) jump(w, i); }
BRANCH(s_cbranch_scc0, !w->scc)
BRANCH(s_cbranch_scc1, w->scc)
BRANCH(s_cbranch_vccz, !lane_bits(w, SGPR_VCC))
BRANCH(s_cbranch_vccnz, lane_bits(w, SGPR_VCC))
BRANCH(s_cbranch_execz, !exec_mask(w))
BRANCH(s_cbranch_execnz, exec_mask(w))

/* Device address of the instruction after `i`. */
static u64 next_address(const Wave *w, const Inst *i)
{
    const Program *p = w->program;
    return p->address + p->offset_of[i - p->code + 1];
}

static void go_to(Wave *w, const Inst *i, u64 address)
{
    const Program *p = w->program;
    u64 offset = address - p->address;
    bool elsewhere = offset >= p->bytes && address >= p->text_start && address < p->text_end;
    if (elsewhere) { /* in code that was not decoded */
        fault_not_emulated(w, i);
        return;
    }
    if (offset % 4 || offset >= p->bytes || p->index_of[offset / 4] == ~0u) {
        fault_record(w, i, OUTCOME_BAD_PC, SPACE_GLOBAL, 0, address, 4, false);
        return;
    }
    w->pc = p->index_of[offset / 4];
    w->worker->events.taken++;
}

static void s_getpc_b64(Wave *w, const Inst *i) { put_scalar_pair(w, i->sdst, next_address(w, i)); }
static void call_begins(Wave *w, const Inst *i)
{
    if (w->call_depth < CALLS)
        w->calls[w->call_depth] = next_address(w, i);
    w->call_depth++;
}
/* A jump to where the last call returns is its end. */
static void s_setpc_b64(Wave *w, const Inst *i)
{
    u64 to = scalar64(w, i, 0);
    if (w->call_depth && (w->call_depth > CALLS || w->calls[w->call_depth - 1] == to))
        w->call_depth--;
    go_to(w, i, to);
}
static void s_swappc_b64(Wave *w, const Inst *i)
{
    u64 to = scalar64(w, i, 0);
    put_scalar_pair(w, i->sdst, next_address(w, i));
    call_begins(w, i);
    go_to(w, i, to);
}
static void s_call_b64(Wave *w, const Inst *i)
{
    put_scalar_pair(w, i->sdst, next_address(w, i));
    call_begins(w, i);
    jump(w, i);
}

static void s_barrier(Wave *w, const Inst *i)
{
    (void)i;
    w->worker->events.barriers++;
    if (unlikely(w->worker->observers))
        observe_barrier(w);
    w->signalled = true;
    ++*w->signals;
    w->stop = STOP_BARRIER;
}

/*
 * RDNA4's barrier in two steps. Only the workgroup's own, number -1, belongs to programs without a trap handler; number
 * 0 is none. M0 holds a number in five bits.  RDNA4 ISA, S_BARRIER_SIGNAL.
 */
static i32 barrier_number(const Wave *w, const Inst *i)
{
    u32 number = scalar32(w, i, 0);
    return i->source[0] == SGPR_M0 ? (i32)(number & 31) : (i32)number;
}
static void s_barrier_signal(Wave *w, const Inst *i)
{
    i32 number = barrier_number(w, i);
    if (!number)
        return;
    if (number != -1 || w->signalled) {
        fault_not_emulated(w, i);
        return;
    }
    w->worker->events.barriers++;
    if (unlikely(w->worker->observers))
        observe_barrier(w);
    w->signalled = true;
    ++*w->signals;
}
/* What the hardware returns to the only wave of a workgroup is not clear: it may be in no workgroup at all. */
static void s_barrier_signal_isfirst(Wave *w, const Inst *i)
{
    const u32 *block = w->worker->dispatch->block;
    if (block[0] * block[1] * block[2] <= wave_lanes(w)) {
        fault_not_emulated(w, i);
        return;
    }
    u32 first = barrier_number(w, i) && !*w->signals;
    s_barrier_signal(w, i);
    w->scc = first;
}
static void s_barrier_wait(Wave *w, const Inst *i)
{
    if ((int16_t)i->raw != -1 || !(w->signalled || w->barrier_open)) {
        fault_not_emulated(w, i);
        return;
    }
    if (!w->barrier_open)
        w->stop = STOP_BARRIER;
    w->barrier_open = false;
}
static void s_endpgm(Wave *w, const Inst *i)
{
    (void)i;
    w->stop = STOP_END;
}
/* A wave that executes s_sleep waits for another one: let that run. */
static void s_sleep(Wave *w, const Inst *i)
{
    (void)i;
    w->stop = STOP_YIELD;
}
static void s_trap(Wave *w, const Inst *i)
{
    fault_record(w, i, OUTCOME_TRAP, SPACE_GLOBAL, 0, i->raw & 0xff, 0, false);
}
/* A halted wave waits for a debugger, but there is none.  CDNA3 ISA, "S_SETHALT": bit 0 halts. */
static void s_sethalt(Wave *w, const Inst *i)
{
    if (i->raw & 1)
        fault_not_emulated(w, i);
}

/* ---- hardware registers.  CDNA3 ISA, "Hardware registers". ---- */

enum {
    HWREG_MODE = 1, HWREG_HW_ID = 4, HWREG_SH_MEM_BASES = 15, HWREG_XCC_ID = 20,
    RDNA_HW_ID1 = 23, RDNA_HW_ID2 = 24, RDNA_SHADER_CYCLES = 29, RDNA4_SHADER_CYCLES_HI = 30,
};

/* Where a wave runs: drawn for each launch, on a GPU of 4 shader engines with 8 units each. The waves of a workgroup share
 * their unit, and workgroups go to MI300's dies in turn. */
enum { DIES = 8 };

static u64 workgroup_number(const Wave *w)
{
    const Dispatch *d = w->worker->dispatch;
    return w->workgroup[0] + (u64)d->workgroups[0] * (w->workgroup[1] + (u64)d->workgroups[1] * w->workgroup[2]);
}

static u32 hardware_place(const Wave *w, u32 unit_at, u32 engine_at, u32 simd_at)
{
    enum { SIMDS = 4, SLOTS = 8 };
    u64 drawn = (w->worker->dispatch->leftovers ^ workgroup_number(w)) * 0x9e3779b97f4a7c15ull >> 40;
    u32 slot = (w->index / SIMDS + (u32)(drawn >> 8)) % SLOTS;
    return (u32)(drawn & 7) << unit_at | (u32)(drawn >> 3 & 3) << engine_at | w->index % SIMDS << simd_at | slot;
}

/* RDNA3's clock has 20 bits, RDNA4's 64.  RDNA3 ISA, RDNA4 ISA, "Hardware registers". */
static bool rdna_hardware_register(const Wave *w, u32 id, u32 *value)
{
    Worker *k = w->worker;
    bool rdna4 = w->program->generation >= GFX12;
    u64 clock = shader_clock(k);
    if (id == HWREG_MODE)
        *value = w->mode;
    else if (id == RDNA_HW_ID1)
        *value = hardware_place(w, 10, 18, 8);
    else if (id == RDNA_HW_ID2)
        *value = 0;
    else if (id == RDNA_SHADER_CYCLES)
        *value = rdna4 ? (u32)clock : (u32)clock & 0xfffff;
    else if (id == RDNA4_SHADER_CYCLES_HI && rdna4)
        *value = (u32)(clock >> 32);
    else
        return false;
    return true;
}

/* The register that SIMM16 names. */
static bool hardware_register(const Wave *w, u32 id, u32 *value)
{
    if (w->program->generation >= GFX11)
        return rdna_hardware_register(w, id, value);
    if (id == HWREG_MODE)
        *value = w->mode;
    else if (id == HWREG_SH_MEM_BASES)
        *value = SHARED_APERTURE | PRIVATE_APERTURE >> 16;
    else if (id == HWREG_HW_ID)
        *value = hardware_place(w, 8, 13, 4);
    else if (id == HWREG_XCC_ID)
        *value = (u32)(workgroup_number(w) % DIES);
    else
        return false;
    return true;
}

static void s_getreg_b32(Wave *w, const Inst *i)
{
    u32 value, at = i->raw >> 6 & 31, size = (i->raw >> 11 & 31) + 1;
    if (!hardware_register(w, i->raw & 63, &value)) {
        fault_not_emulated(w, i);
        return;
    }
    w->s[i->sdst] = (u32)((u64)value >> at & ((1ull << size) - 1));
}

/* Not emulated: traps on exceptions, skipped vector instructions, and bits for debuggers and pixel shaders. */
static void s_setreg(Wave *w, const Inst *i)
{
    enum { KNOWN = 0x3ff | MODE_FP16_OVERFLOW };
    u32 at = i->raw >> 6 & 31, size = (i->raw >> 11 & 31) + 1;
    u32 mask = (u32)(((1ull << size) - 1) << at), value = scalar32(w, i, 0) << at & mask;
    if ((i->raw & 63) != HWREG_MODE || (value & ~w->mode & ~KNOWN)) {
        fault_not_emulated(w, i);
        return;
    }
    w->mode = (w->mode & ~mask) | value;
    w->stop = STOP_MODE; /* the loop sets rounding and denormals up */
}

/* While it is set no vector instruction is issued, nor counted by a wait counter.  CDNA3 ISA, "MODE register", VSKIP. */
static void s_setvskip(Wave *w, const Inst *i)
{
    bool on = scalar32(w, i, 0) >> (scalar32(w, i, 1) & 31) & 1;
    w->mode = (w->mode & ~(u32)MODE_VSKIP) | (on ? MODE_VSKIP : 0);
    w->stop = STOP_MODE;
}

/* ---- VGPR indexing: M0 bits 0-7 are added to the registers of the operands in M0 bits 12-15 (SRC0-2, DST). ---- */

static void set_indexing(Wave *w, u32 operands)
{
    w->s[SGPR_M0] = (w->s[SGPR_M0] & ~0xf000u) | operands << 12;
    w->indexing = operands;
    w->stop = STOP_MODE;
}
static void set_index(Wave *w, const Inst *i) { w->s[SGPR_M0] = (w->s[SGPR_M0] & ~0xffu) | (scalar32(w, i, 0) & 0xff); }
static void s_set_gpr_idx_on(Wave *w, const Inst *i)
{
    set_index(w, i);
    set_indexing(w, i->raw >> 8 & 15);
}
static void s_set_gpr_idx_mode(Wave *w, const Inst *i) { set_indexing(w, i->raw & 15); }
static void s_set_gpr_idx_off(Wave *w, const Inst *i)
{
    (void)i;
    w->indexing = 0;
    w->stop = STOP_MODE;
}

/* Scalar registers that M0 moves. */
static bool moved_register(Wave *w, const Inst *i, u32 operand, u32 words, u32 *at)
{
    *at = operand + w->s[SGPR_M0];
    if (operand < 102 && w->s[SGPR_M0] < 102 && *at + words <= 102)
        return true;
    fault_not_emulated(w, i);
    return false;
}
static void s_movrels_b32(Wave *w, const Inst *i)
{
    u32 at;
    if (moved_register(w, i, i->source[0], 1, &at))
        w->s[i->sdst] = w->s[at];
}
static void s_movrels_b64(Wave *w, const Inst *i)
{
    u32 at;
    if (moved_register(w, i, i->source[0], 2, &at))
        put_scalar_pair(w, i->sdst, scalar_pair(w, at));
}
static void s_movreld_b32(Wave *w, const Inst *i)
{
    u32 at;
    if (moved_register(w, i, i->sdst, 1, &at))
        w->s[at] = scalar32(w, i, 0);
}
static void s_movreld_b64(Wave *w, const Inst *i)
{
    u32 at;
    if (moved_register(w, i, i->sdst, 2, &at))
        put_scalar_pair(w, at, scalar64(w, i, 0));
}

/* Messages to the host: an interrupt calls Dispatch.interrupt, the others are hints. */
static void s_sendmsg(Wave *w, const Inst *i)
{
    enum { HOST_STEPS = 20000 }; /* about as long as the host takes for a printf of 64 lanes: a flood reaches the limit */
    enum { INTERRUPT = 1, RDNA_DEALLOCATE_VGPRS = 3, SAVE_WAVE = 4, EARLY_PRIMITIVE_DEALLOCATION = 6 };
    u32 id = i->raw & 15;
    const Dispatch *d = w->worker->dispatch;
    if (id == INTERRUPT && d->interrupt) {
        d->interrupt(d->interrupt_context);
        w->worker->host_steps += HOST_STEPS;
    } else if (id != INTERRUPT && id != SAVE_WAVE && id != EARLY_PRIMITIVE_DEALLOCATION &&
             !(id == RDNA_DEALLOCATE_VGPRS && w->program->generation >= GFX11))
        fault_not_emulated(w, i);
}

/* RDNA's messages with an answer: the clock, and the doorbell that a trap wants.  RDNA3 ISA, "S_SENDMSG_RTN". */
static void s_sendmsg_rtn(Wave *w, const Inst *i)
{
    enum { GET_DOORBELL = 0x80, GET_REALTIME = 0x83 };
    u32 id = i->raw & 0xff;
    bool wide = i->row->result == TYPE_U64;
    if (id != GET_DOORBELL && !(id == GET_REALTIME && wide)) {
        fault_not_emulated(w, i);
        return;
    }
    u64 answer = id == GET_REALTIME ? real_clock(w->worker) : 0;
    w->s[i->sdst] = (u32)answer;
    if (wide)
        w->s[i->sdst + 1] = (u32)(answer >> 32);
}

/* The rounding and denormal bits of MODE have instructions of their own on RDNA. */
static void set_mode_field(Wave *w, u32 at, u32 value)
{
    w->mode = (w->mode & ~(15u << at)) | (value & 15) << at;
    w->stop = STOP_MODE;
}
static void s_round_mode(Wave *w, const Inst *i) { set_mode_field(w, 0, i->raw); }
static void s_denorm_mode(Wave *w, const Inst *i) { set_mode_field(w, 4, i->raw); }

void control_no_effect(Wave *w, const Inst *i)
{
    (void)w;
    (void)i;
}

/* What the wave has stored reaches other threads before what it stores after the wait, and so with loads. */
void control_fence(Wave *w, const Inst *i)
{
    (void)w;
    (void)i;
    order_accesses();
}

#define WAIT(name) \
    {.mnemonic = #name, .run = WAITS_NEED_FENCES ? control_fence : control_no_effect, .layout = "*", .family = FAMILY_MISC}
#define MISC(name) {.mnemonic = #name, .run = control_no_effect, .layout = "*", .family = FAMILY_MISC}
#define JUMP(name) {.mnemonic = #name, .run = name, .layout = "*", .family = FAMILY_BRANCH}
#define SCALAR(name, in, body) {.mnemonic = name, .run = body, .layout = in, .family = FAMILY_SALU, .source = {TYPE_U64}}
#define ALONE(name, in, body) \
    {.mnemonic = name, .run = body, .layout = in, .family = FAMILY_SALU, .source = {TYPE_U64}, .alone = true}

static const Row rows[] = {
    JUMP(s_branch), JUMP(s_cbranch_scc0), JUMP(s_cbranch_scc1), JUMP(s_cbranch_vccz), JUMP(s_cbranch_vccnz),
    JUMP(s_cbranch_execz), JUMP(s_cbranch_execnz),
    {.mnemonic = "s_call_b64", .run = s_call_b64, .layout = "s-", .family = FAMILY_BRANCH},
    SCALAR("s_getpc_b64", "s", s_getpc_b64), ALONE("s_setpc_b64", "0", s_setpc_b64),
    ALONE("s_swappc_b64", "s0", s_swappc_b64),
    ALONE("s_getreg_b32", "s-", s_getreg_b32),
    {.mnemonic = "s_setreg_b32", .run = s_setreg, .layout = "-0", .family = FAMILY_SALU, .source = {TYPE_U32}},
    {.mnemonic = "s_setreg_imm32_b32", .run = s_setreg, .layout = "-0", .family = FAMILY_SALU, .source = {TYPE_U32}},
    {.mnemonic = "s_barrier", .run = s_barrier, .layout = "*", .family = FAMILY_BARRIER},
    {.mnemonic = "s_barrier_signal", .run = s_barrier_signal, .layout = "0", .family = FAMILY_BARRIER,
     .source = {TYPE_I32}},
    {.mnemonic = "s_barrier_signal_isfirst", .run = s_barrier_signal_isfirst, .layout = "0", .family = FAMILY_BARRIER,
     .source = {TYPE_I32}},
    {.mnemonic = "s_barrier_wait", .run = s_barrier_wait, .layout = "*", .family = FAMILY_BARRIER},
    {.mnemonic = "s_endpgm", .run = s_endpgm, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_sleep", .run = s_sleep, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_sethalt", .run = s_sethalt, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_trap", .run = s_trap, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_sendmsg", .run = s_sendmsg, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_movrels_b32", .run = s_movrels_b32, .layout = "s0", .family = FAMILY_SALU, .source = {TYPE_U32}},
    {.mnemonic = "s_movreld_b32", .run = s_movreld_b32, .layout = "s0", .family = FAMILY_SALU, .source = {TYPE_U32}},
    SCALAR("s_movrels_b64", "s0", s_movrels_b64), SCALAR("s_movreld_b64", "s0", s_movreld_b64),
    {.mnemonic = "s_sendmsg_rtn_b32", .run = s_sendmsg_rtn, .layout = "s-", .family = FAMILY_MISC, .result = TYPE_U32},
    {.mnemonic = "s_sendmsg_rtn_b64", .run = s_sendmsg_rtn, .layout = "s-", .family = FAMILY_MISC, .result = TYPE_U64},
    {.mnemonic = "s_round_mode", .run = s_round_mode, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_denorm_mode", .run = s_denorm_mode, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_sleep_var", .run = s_sleep, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_setvskip", .run = s_setvskip, .layout = "01", .family = FAMILY_SALU, .source = {TYPE_U32, TYPE_U32}},
    {.mnemonic = "s_set_gpr_idx_on", .run = s_set_gpr_idx_on, .layout = "0-", .family = FAMILY_SALU,
     .source = {TYPE_U32}},
    {.mnemonic = "s_set_gpr_idx_idx", .run = set_index, .layout = "0", .family = FAMILY_SALU, .source = {TYPE_U32}},
    {.mnemonic = "s_set_gpr_idx_mode", .run = s_set_gpr_idx_mode, .layout = "*", .family = FAMILY_MISC},
    {.mnemonic = "s_set_gpr_idx_off", .run = s_set_gpr_idx_off, .layout = "*", .family = FAMILY_MISC},
    WAIT(s_waitcnt), WAIT(s_waitcnt_vscnt), WAIT(s_waitcnt_vmcnt), WAIT(s_waitcnt_lgkmcnt), WAIT(s_wait_idle),
    WAIT(s_wait_loadcnt), WAIT(s_wait_storecnt), WAIT(s_wait_kmcnt), WAIT(s_wait_loadcnt_dscnt),
    WAIT(s_wait_storecnt_dscnt),
    MISC(s_nop), MISC(s_setprio), MISC(s_icache_inv), MISC(s_wakeup),
    MISC(s_incperflevel), MISC(s_decperflevel), MISC(s_ttracedata), MISC(s_inst_prefetch),
    MISC(s_set_valu_coexec_mode), MISC(s_delay_alu), MISC(s_clause), MISC(s_set_inst_prefetch_distance), MISC(s_code_end),
    MISC(s_version), MISC(s_ttracedata_imm), MISC(s_waitcnt_depctr), MISC(s_waitcnt_expcnt),
    MISC(s_wait_event), MISC(s_wait_alu),
    MISC(s_wait_samplecnt), MISC(s_wait_bvhcnt), MISC(s_wait_expcnt),
    MISC(s_wait_dscnt),
};

const RowTable isa_control = {rows, sizeof rows / sizeof *rows};
