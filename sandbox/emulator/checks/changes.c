#include "checks/changes.h"

#include "memory/arena.h"

static void keep(Changes *c, u8 *at, u32 bytes)
{
    if (c->count == MOST_CHANGES || bytes > MOST_CHANGED_BYTES) {
        c->too_many = true;
        return;
    }
    c->place[c->count].at = at;
    c->place[c->count].bytes = bytes;
    memcpy(c->place[c->count++].before, at, bytes);
}

void changes_global(Wave *w, const u64 *address, u64 active, u32 bytes)
{
    Span span;
    for (u32 l = 0; l < LANES; l++)
        if (active >> l & 1 && memory_span(w->worker->memory, address[l], bytes, &span)) /* else it is dropped */
            keep(w->worker->changes, (u8 *)address[l], bytes);
}

void changes_lds(Wave *w, const u32 *offset, u64 active, u32 bytes)
{
    for (u32 l = 0; l < LANES; l++)
        if (active >> l & 1 && (u64)offset[l] + bytes <= w->lds_bytes)
            keep(w->worker->changes, w->lds + offset[l], bytes);
}

void changes_private(Wave *w, const u32 *offset, u64 active, u32 bytes)
{
    for (u32 l = 0; l < LANES; l++)
        if (active >> l & 1)
            keep(w->worker->changes, w->scratch + (u64)l * w->scratch_bytes + offset[l], bytes);
}

bool changes_any(Changes *c)
{
    bool any = c->too_many;
    for (u32 k = 0; k < c->count; k++)
        any |= memcmp(c->place[k].at, c->place[k].before, c->place[k].bytes) != 0;
    c->count = 0;
    c->too_many = false;
    return any;
}
