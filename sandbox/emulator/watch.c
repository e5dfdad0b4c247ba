#include "watch.h"

#include "memory_model.h"

u32 watchers_of(const Dispatch *d) { return d->count_memory && d->program->shape ? WATCH_COUNTERS : 0; }

/* A load to LDS reads memory and writes LDS, so the row alone does not tell. */
static AccessKind kind_of(const Inst *i, bool store)
{
    if (i->row->detail[2] == ACCESS_ATOMIC)
        return ACCESS_ATOMIC;
    return store ? ACCESS_STORE : ACCESS_LOAD;
}

void watch_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    if (w->worker->watchers & WATCH_COUNTERS)
        memory_view_global(w, i, address, active, bytes, kind_of(i, store));
}

void watch_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    if (w->worker->watchers & WATCH_COUNTERS)
        memory_view_lds(w, i, offset, active, bytes, kind_of(i, store));
}

void watch_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    if (w->worker->watchers & WATCH_COUNTERS)
        memory_view_scalar(w, i, address, bytes);
}

void watch_barrier(Wave *w)
{
    if (w->worker->watchers & WATCH_COUNTERS)
        trace_add(w->trace, (Request){0});
}
