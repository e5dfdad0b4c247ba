#include "watch.h"

u32 watchers_of(const Dispatch *d) { return d->count_memory ? WATCH_COUNTERS : 0; }

void watch_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    (void)i;
    if (w->worker->watchers & WATCH_COUNTERS)
        count_cache_lines(w, address, active, bytes, store);
}

void watch_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    (void)i;
    (void)store;
    if (w->worker->watchers & WATCH_COUNTERS)
        count_lds_access(w, offset, active, bytes);
}

void watch_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    (void)w;
    (void)i;
    (void)address;
    (void)bytes;
}
