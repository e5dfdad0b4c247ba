/* The one exit of a wave that cannot go on. */
#include <stdio.h>

#include "machine.h"

void wave_fault(Wave *w, const Inst *i, OutcomeKind kind, AddressSpace space, u32 lane, u64 address, u32 bytes,
                bool store)
{
    const Program *p = w->program;
    Fault *f = &w->worker->fault;
    u64 at = (u64)(i - p->code) <= p->count ? (u64)(i - p->code) : w->pc - 1; /* `i` may be a copy, see wave.c */
    w->stop = STOP_FAULT;
    if (f->kind != OUTCOME_OK)
        return;
    *f = (Fault){.kind = kind, .pc = p->address + p->offset_of[at], .wave = w->index, .lane = lane,
                 .space = space, .address = address, .bytes = bytes, .store = store};
    memcpy(f->workgroup, w->workgroup, sizeof f->workgroup);
    snprintf(f->instruction, sizeof f->instruction, "%s", p->text + i->text);
}

void run_not_emulated(Wave *w, const Inst *i)
{
    wave_fault(w, i, OUTCOME_NOT_EMULATED, SPACE_GLOBAL, 0, 0, 0, false);
}

const char *outcome_name(OutcomeKind kind)
{
    static const char *const names[] = {"ok", "out_of_bounds", "misaligned", "not_emulated", "step_limit", "deadlock",
                                        "trap", "bad_pc", "read_only"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}
