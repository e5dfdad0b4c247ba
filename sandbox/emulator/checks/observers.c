#include "checks/observers.h"

#include "model/l1.h"
#include "checks/races/races.h"

u32 watchers_of(const Dispatch *d)
{
    return (d->count_memory && d->program->shape ? WATCH_COUNTERS : 0) | (d->check_memory ? WATCH_MEMORY : 0) |
           (d->check_races ? WATCH_RACES : 0);
}

/* A load to LDS reads memory and writes LDS, so the row alone does not tell. */
static AccessKind kind_of(const Inst *i, bool store)
{
    if (i->row->detail[2] == ACCESS_ATOMIC)
        return ACCESS_ATOMIC;
    return store ? ACCESS_STORE : ACCESS_LOAD;
}

void watch_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    u32 watchers = w->worker->watchers;
    if (watchers & WATCH_COUNTERS)
        memory_view_global(w, i, address, active, bytes, kind_of(i, store));
    if (watchers & WATCH_MEMORY)
        check_unset_global(w, i, address, active, bytes, store);
    if (watchers & WATCH_RACES)
        races_global(w, i, address, active, bytes, store);
}

void watch_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    u32 watchers = w->worker->watchers;
    if (watchers & WATCH_COUNTERS)
        memory_view_lds(w, i, offset, active, bytes, kind_of(i, store));
    if (watchers & WATCH_MEMORY)
        check_unset_lds(w, i, offset, active, bytes, store);
    if (watchers & WATCH_RACES)
        races_lds(w, i, offset, active, bytes, store);
}

void watch_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes)
{
    if (w->worker->watchers & WATCH_MEMORY)
        check_beyond_lds(w, i, offset, lanes, bytes);
}

void watch_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    if (w->worker->watchers & WATCH_MEMORY)
        taint_private(w, i, offset, active, bytes, store);
}

void watch_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (w->worker->watchers & WATCH_COUNTERS)
        memory_view_scalar(w, i, address, bytes);
    if (w->worker->watchers & WATCH_MEMORY)
        check_unset_scalar(w, i, address, bytes);
    if (w->worker->watchers & WATCH_RACES)
        races_scalar(w, i, address, bytes);
}

void watch_barrier(Wave *w)
{
    if (w->worker->watchers & WATCH_COUNTERS)
        trace_add(w->trace, (Request){0});
}

void watch_misaligned(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (!(w->worker->watchers & WATCH_MEMORY))
        return;
    Fault f = place_of(w, i, OUTCOME_MISALIGNED, SPACE_SCALAR, 0, address, bytes, false);
    report_finding(w, &f, NULL);
}
