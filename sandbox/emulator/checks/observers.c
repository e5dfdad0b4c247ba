#include "checks/observers.h"

#include "checks/changes.h"
#include "checks/races/coherence.h"
#include "checks/races/races.h"
#include "checks/uninit/loads.h"
#include "checks/uninit/private.h"
#include "checks/shadow.h"
#include "checks/touched.h"
#include "checks/uninit/registers.h"
#include "checks/waits/waits.h"
#include "model/l1.h"

u32 observers_of(const Dispatch *d)
{
    return (d->count_memory && d->program->shape ? OBSERVE_COUNTERS : 0) | (d->check_memory ? OBSERVE_MEMORY : 0) |
           (d->check_races ? OBSERVE_RACES : 0) | (d->check_memory || d->count_memory ? OBSERVE_TOUCHED : 0) |
           (d->check_memory && d->schedule_seed && annotations_communicate(d->program) ? OBSERVE_MEETINGS : 0);
}

/* An atomic or volatile load, or an atomic that returns the old value: what other waves store now decides what happens if this one stores what it has made of the
 * value. The wave stops behind it, see worker.c. */
static void meet(Wave *w, const Inst *i, bool store)
{
    u16 sync = w->worker->checks->annotations[instruction_number(w, i)].sync;
    if (!(sync & SYNC_ACCESS) || (store && !(sync & SYNC_RETURNS)) || w->stop == STOP_FAULT)
        return;
    w->met = true;
    w->stop = STOP_YIELD;
}

/* A load to LDS reads memory and writes LDS, so the row alone does not determine the kind. */
static AccessKind kind_of(const Inst *i, bool store)
{
    if (i->row->detail[2] == ACCESS_ATOMIC)
        return ACCESS_ATOMIC;
    return store ? ACCESS_STORE : ACCESS_LOAD;
}

static void check_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    u32 observers = w->worker->observers;
    if (observers & OBSERVE_TOUCHED)
        touched_note(w, i, address, active, bytes, store);
    if (observers & OBSERVE_MEMORY) {
        touched_check_variables(w, i, address, active, bytes, store);
        uninit_check_global(w, i, address, active, bytes, store);
    }
    if (observers & OBSERVE_RACES && w->shadow->raced)
        races_global(w, i, address, active, bytes, store);
    if (observers & OBSERVE_CHANGES && store)
        changes_global(w, address, active, bytes);
    if (observers & OBSERVE_MEETINGS)
        meet(w, i, store);
}

void observe_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    if (w->worker->observers & OBSERVE_COUNTERS)
        l1_view_global(w, i, address, active, bytes, kind_of(i, store));
    check_global(w, i, address, active, bytes, store);
}

/* The checks see it as a store of lane 0, the caches as one that bypasses the vector cache. */
void observe_scalar_store(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    u64 lanes[LANES] = {address};
    if (w->worker->observers & OBSERVE_COUNTERS)
        l1_view_scalar(w, i, address, bytes, kind_of(i, true));
    check_global(w, i, lanes, 1, bytes, true);
}

void observe_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    u32 observers = w->worker->observers;
    if (observers & OBSERVE_COUNTERS)
        l1_view_lds(w, i, offset, active, bytes, kind_of(i, store));
    if (observers & OBSERVE_MEMORY)
        uninit_check_lds(w, i, offset, active, bytes, store);
    if (observers & OBSERVE_RACES && w->worker->checks->waits && !store)
        waits_read_of_lds(w, i, offset, active, bytes);
    if (observers & OBSERVE_RACES && w->shadow->raced)
        races_lds(w, i, offset, active, bytes, store);
    if (observers & OBSERVE_CHANGES && store)
        changes_lds(w, offset, active, bytes);
}

void observe_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes)
{
    if (w->worker->observers & OBSERVE_MEMORY)
        uninit_check_beyond_lds(w, i, offset, lanes, bytes);
}

void observe_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    if (w->worker->observers & OBSERVE_MEMORY) {
        private_check(w, i, offset, active, bytes, store); /* what was saved on the way names its own origin */
        uninit_private(w, i, offset, active, bytes, store);
    }
    if (w->worker->observers & OBSERVE_CHANGES && store)
        changes_private(w, offset, active, bytes);
}

void observe_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (w->worker->observers & OBSERVE_COUNTERS)
        l1_view_scalar(w, i, address, bytes, ACCESS_LOAD);
    if (w->worker->observers & OBSERVE_TOUCHED)
        touched_note_scalar(w, i, address, bytes);
    if (w->worker->observers & OBSERVE_MEMORY) {
        touched_check_variable(w, i, address, bytes);
        uninit_check_scalar(w, i, address, bytes);
    }
    if (w->worker->observers & OBSERVE_RACES && w->shadow->raced)
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
