#include "checks/observers.h"

#include "checks/races/races.h"
#include "checks/uninit/loads.h"
#include "checks/uninit/registers.h"
#include "model/l1.h"

u32 observers_of(const Dispatch *d)
{
    return (d->count_memory && d->program->shape ? OBSERVE_COUNTERS : 0) | (d->check_memory ? OBSERVE_MEMORY : 0) |
           (d->check_races ? OBSERVE_RACES : 0);
}

/* A load to LDS reads memory and writes LDS, so the row alone does not determine the kind. */
static AccessKind kind_of(const Inst *i, bool store)
{
    if (i->row->detail[2] == ACCESS_ATOMIC)
        return ACCESS_ATOMIC;
    return store ? ACCESS_STORE : ACCESS_LOAD;
}

void observe_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    u32 observers = w->worker->observers;
    if (observers & OBSERVE_COUNTERS)
        l1_view_global(w, i, address, active, bytes, kind_of(i, store));
    if (observers & OBSERVE_MEMORY)
        uninit_check_global(w, i, address, active, bytes, store);
    if (observers & OBSERVE_RACES)
        races_global(w, i, address, active, bytes, store);
}

void observe_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    u32 observers = w->worker->observers;
    if (observers & OBSERVE_COUNTERS)
        l1_view_lds(w, i, offset, active, bytes, kind_of(i, store));
    if (observers & OBSERVE_MEMORY)
        uninit_check_lds(w, i, offset, active, bytes, store);
    if (observers & OBSERVE_RACES)
        races_lds(w, i, offset, active, bytes, store);
}

void observe_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes)
{
    if (w->worker->observers & OBSERVE_MEMORY)
        uninit_check_beyond_lds(w, i, offset, lanes, bytes);
}

void observe_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    if (w->worker->observers & OBSERVE_MEMORY)
        uninit_private(w, i, offset, active, bytes, store);
}

void observe_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (w->worker->observers & OBSERVE_COUNTERS)
        l1_view_scalar(w, i, address, bytes);
    if (w->worker->observers & OBSERVE_MEMORY)
        uninit_check_scalar(w, i, address, bytes);
    if (w->worker->observers & OBSERVE_RACES)
        races_scalar(w, i, address, bytes);
}

void observe_barrier(Wave *w)
{
    if (w->worker->observers & OBSERVE_COUNTERS)
        trace_add(w->trace, (Request){0});
}

void observe_misaligned(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (!(w->worker->observers & OBSERVE_MEMORY))
        return;
    Fault f = findings_place(w, i, OUTCOME_MISALIGNED, SPACE_SCALAR, 0, address, bytes, false);
    findings_report(w, &f, NULL);
}
