/* The one exit of a wave that cannot continue. */
#include "machine/fault.h"

#include <stdio.h>

void fault_callers(const Wave *w, u64 *callers)
{
    u32 n = 0, depth = w->call_depth < CALLS ? w->call_depth : CALLS;
    for (u32 k = depth; k-- > 1 && n < CALLERS - 1;)
        callers[n++] = w->calls[k] - 4;
    if (depth)
        callers[n] = w->calls[0] - 4;
}

void fault_record(Wave *w, const Inst *i, OutcomeKind kind, AddressSpace space, u32 lane, u64 address, u32 bytes,
                bool store)
{
    const Program *p = w->program;
    Fault *f = &w->worker->fault;
    u64 at = (u64)(i - p->code) <= p->count ? (u64)(i - p->code) : (u64)(w->at - p->code); /* `i` may be a copy */
    w->stop = STOP_FAULT;
    if (f->kind != OUTCOME_OK)
        return;
    *f = (Fault){.kind = kind, .pc = p->address + p->offset_of[at], .wave = w->index, .lane = lane,
                 .space = space, .address = address, .bytes = bytes, .store = store};
    memcpy(f->workgroup, w->workgroup, sizeof f->workgroup);
    fault_callers(w, f->callers);
    snprintf(f->instruction, sizeof f->instruction, "%s", p->text + i->text);
}

void fault_not_emulated(Wave *w, const Inst *i)
{
    fault_record(w, i, OUTCOME_NOT_EMULATED, SPACE_GLOBAL, 0, 0, 0, false);
}

const char *outcome_name(OutcomeKind kind)
{
    static const char *const names[] = {"ok", "out_of_bounds", "misaligned", "not_emulated", "step_limit", "deadlock", "residency",
                                        "trap", "bad_pc", "read_only", "use_after_free", "uninitialised_read",
                                        "input_modified", "race", "state_between_launches", "missing_wait"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}
