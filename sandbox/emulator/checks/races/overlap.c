/*
 * For each dword the last two stores (to its parts) and two loads since, of all work so far. Work is in order where a
 * stream, an event or a wait of the host orders it (hip/streams/stream_order.c); how it happened to run is not considered.
 * What is not known can hide a race but never invents one: signals through memory, and pages beyond the limit.
 */
#include "checks/races/overlap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, CELLS = PAGE_BYTES / 4, MOST_PAGES = 8192 };

enum { CODE_BITS = 26 };
typedef struct { u32 id, code : CODE_BITS, mask : 4, signal : 1, learns : 1; } Touch; /* code in words; id 0: none */
typedef struct { Touch store[2], load[2]; } Cell;
typedef struct { u32 stream, count; const void *label; bool talks; } Past;

struct Overlap {
    u64 base, bytes;
    Cell **pages;
    u64 page_count, made;
    Past *past; /* by id */
    u32 past_count, past_room;
    bool in_part;
    pthread_mutex_t lock;
};

Overlap *overlap_create(Memory *m)
{
    Overlap *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    memory_arena(m, &o->base, &o->bytes);
    o->page_count = o->bytes / PAGE_BYTES + 1;
    void *pages = mmap(NULL, o->page_count * sizeof *o->pages, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        free(o);
        return NULL;
    }
    o->pages = pages;
    pthread_mutex_init(&o->lock, NULL);
    return o;
}

bool overlap_in_part(const Overlap *o) { return o && o->in_part; }

void overlap_begin(Overlap *o, Turn *t, const void *label)
{
    pthread_mutex_lock(&o->lock);
    if (o->past_count + 1 >= o->past_room) {
        u32 room = 2 * o->past_room + 256;
        Past *more = realloc(o->past, room * sizeof *more);
        o->in_part |= !more;
        o->past = more ? more : o->past;
        o->past_room = more ? room : o->past_room;
    }
    if (o->past_count + 1 < o->past_room) {
        t->id = ++o->past_count;
        o->past[t->id] = (Past){.stream = t->stream, .count = t->count, .label = label};
    }
    pthread_mutex_unlock(&o->lock);
}

static Cell *cell_at(Overlap *o, u64 address, bool make)
{
    u64 offset = address - o->base, page = offset / PAGE_BYTES;
    if (offset >= o->bytes)
        return NULL;
    if (!o->pages[page] && make) {
        o->in_part |= o->made >= MOST_PAGES;
        if (o->made >= MOST_PAGES || !(o->pages[page] = calloc(CELLS, sizeof(Cell))))
            return NULL;
        o->made++;
    }
    return o->pages[page] ? &o->pages[page][offset % PAGE_BYTES / 4] : NULL;
}

static bool comes_before(const Overlap *o, const Touch *then, const Turn *now)
{
    const Past *p = &o->past[then->id];
    return !then->id || then->id == now->id || now->known[p->stream] >= p->count;
}

/* Both touch the same bytes, not both atomically, and nothing orders them. */
static bool meets(const Overlap *o, const Touch *then, const Touch *now, const Turn *t)
{
    return then->mask & now->mask && !(then->signal && now->signal) && !comes_before(o, then, t);
}

static void keep_load(const Overlap *o, Cell *c, const Touch *now, const Turn *t)
{
    for (int k = 0; k < 2; k++)
        if (c->load[k].id == now->id) {
            c->load[k].mask |= now->mask;
            c->load[k].signal |= now->signal;
            c->load[k].learns |= now->learns;
            return;
        }
    c->load[comes_before(o, &c->load[0], t) ? 0 : 1] = *now;
}

static void keep_store(Cell *c, const Touch *now)
{
    u32 mask = c->store[0].id == now->id && c->store[0].signal == now->signal ? c->store[0].mask : 0;
    if (c->store[0].mask & ~now->mask && !mask)
        c->store[1] = c->store[0];
    c->store[0] = *now;
    c->store[0].mask |= mask;
    c->store[1].mask &= ~c->store[0].mask;
    for (int k = 0; k < 2; k++)
        c->load[k].mask &= ~now->mask;
}

/* One of two stores a signal and the other polls: it may wait for the signal, before or after this moment. */
static void listen(Overlap *o, Turn *t, const Touch *then, const Touch *now)
{
    bool sign = then->signal && now->signal && (then->learns || now->learns);
    if (sign && !comes_before(o, then, t))
        t->talks = o->past[then->id].talks = true;
}

static bool touch(Overlap *o, Turn *t, Cell *c, Touch now, Touching how, Overlapping *other)
{
    const Touch *met = NULL;
    bool stored = false;
    for (int k = 0; k < 2 && !met; k++)
        if (meets(o, &c->store[k], &now, t))
            met = &c->store[k], stored = true;
    for (int k = 0; k < 2 && !met && how.store; k++)
        if (meets(o, &c->load[k], &now, t))
            met = &c->load[k];
    for (int k = 0; k < 2; k++) {
        listen(o, t, &c->store[k], &now);
        if (how.store)
            listen(o, t, &c->load[k], &now);
    }
    if (met)
        *other = (Overlapping){o->past[met->id].label, 4ull * met->code, !stored, stored};
    bool told = met != NULL;
    if (how.store)
        keep_store(c, &now);
    else
        keep_load(o, c, &now, t);
    return told;
}

bool overlap_touch(Overlap *o, Turn *t, u64 address, u64 bytes, Touching how, u64 code, Overlapping *other)
{
    bool met = false;
    if (how.store && how.signal && !t->talks && t->host_sees)
        t->talks = t->host_sees(address);
    if (!t->id || t->talks)
        return false;
    pthread_mutex_lock(&o->lock);
    t->talks = o->past[t->id].talks;
    for (u64 dword = address & ~3ull; dword < address + bytes && !met; dword += 4) {
        Cell *c = cell_at(o, dword, true);
        u32 from = dword < address ? (u32)(address - dword) : 0;
        u64 left = address + bytes - dword;
        u32 mask = (left < 4 ? (1u << left) - 1 : 15u) & (15u << from);
        if (c)
            met = touch(o, t, c, (Touch){.id = t->id, .code = (u32)(code / 4) & ((1u << CODE_BITS) - 1), .mask = mask & 15,
                                         .signal = how.signal, .learns = how.learns}, how, other);
    }
    pthread_mutex_unlock(&o->lock);
    return met && !t->talks;
}

void overlap_forget(Overlap *o, u64 address, u64 bytes)
{
    pthread_mutex_lock(&o->lock);
    for (u64 dword = address & ~3ull; dword < address + bytes; dword += 4) {
        Cell *c = cell_at(o, dword, false);
        if (c)
            *c = (Cell){0};
        else
            dword |= PAGE_BYTES - 4; /* on to the next page */
    }
    pthread_mutex_unlock(&o->lock);
}
