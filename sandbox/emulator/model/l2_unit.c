/*
 * One L2 with the scalar caches and graphics L1s before it: no request to it depends on another L2.
 *
 * The graphics L1 is read only: stores and atomics bypass it and evict their line; it is empty when a dispatch starts.
 * The L2 writes back and allocates on stores without fetching. Requests to it have 128 bytes if they read and 64 if they
 * write (TCP_TCC_*_REQ; assumed for RDNA as well). The Infinity Cache holds reads and writes alike. A sector counts as written
 * to memory when it becomes dirty in the last cache before memory: it will be written at some time.
 */
#include "model/l2_unit.h"

#include <stdlib.h>

enum {
    CHANNEL_WINDOW = 1024, /* requests to an L2 that are in flight together: a few dozen for each CU */
};

/* ---- behind the L2 ---- */

static u32 sectors_of(u8 mask) { return (u32)__builtin_popcount(mask); }

static void write_to_memory(Traffic *t, u8 dirty_before, u8 sectors)
{
    t->memory_bytes_written += SECTOR_BYTES * sectors_of((u8)(sectors & ~dirty_before));
}

/* What became dirty in an L2 that outlives the dispatch may reach the Infinity Cache in a later one. */
static bool counted_at_l2(const Caches *c) { return c->shape->l2_survives || !c->mall.lines; }

bool l2_unit_alone(const Caches *c) { return !c->mall.lines || !c->shape->l2_survives; }

void fabric_take(Caches *c, Traffic *t, CacheLine line)
{
    CacheLine out, before = cache_touch(&c->mall, line.line, line.dirty ? line.dirty : ALL_SECTORS, line.dirty, &out);
    if (line.dirty) {
        if (!counted_at_l2(c))
            write_to_memory(t, before.dirty, line.dirty);
    } else if (before.valid == ALL_SECTORS) {
        t->mall_hits++;
    } else {
        t->mall_misses++;
        t->memory_bytes_read += LINE_BYTES;
    }
}

static bool keep(L2Unit *u, CacheLine line)
{
    if (u->count == u->room) {
        u64 room = u->room ? 2 * u->room : 4096;
        FabricEvent *grown = realloc(u->event, room * sizeof *grown);
        if (!grown)
            return false;
        u->event = grown;
        u->room = room;
    }
    u->event[u->count++] = (FabricEvent){.turn = u->turn, .line = line};
    return true;
}

static void ask_fabric(L2Unit *u, CacheLine line)
{
    if (!u->keeps || !keep(u, line))
        fabric_take(u->caches, &u->traffic, line);
}

static void fabric_read(L2Unit *u, u64 line)
{
    u->traffic.fabric_reads++;
    if (u->caches->mall.lines)
        ask_fabric(u, (CacheLine){.line = line});
    else
        u->traffic.memory_bytes_read += LINE_BYTES;
}

void l2_unit_evict(void *unit, const CacheLine *line)
{
    L2Unit *u = unit;
    for (u32 half = 0; half < 2; half++) {
        u32 sectors = sectors_of(line->dirty >> 2 * half & 3);
        u->traffic.fabric_writes_64 += sectors == 2;
        u->traffic.fabric_writes_32 += sectors == 1;
    }
    if (u->caches->mall.lines)
        ask_fabric(u, *line);
}

/* ---- what waits for one channel or one line ---- */

static void end_window(Channels *c)
{
    u32 most = 0;
    for (u32 n = 0; n < CHANNELS; n++)
        most = c->channel[n] > most ? c->channel[n] : most;
    *c = (Channels){.busiest = c->busiest + most};
}

static void count_channel(L2Unit *u, u64 line)
{
    u->channels.channel[line / 2 % CHANNELS]++;
    if (++u->channels.count == CHANNEL_WINDOW)
        end_window(&u->channels);
}

u64 l2_unit_busiest_channel(L2Unit *u)
{
    end_window(&u->channels);
    return u->channels.busiest;
}

static void count_atomic(L2Unit *u, u64 line)
{
    if (!u->atomics_on)
        u->atomics_on = calloc(ATOMIC_BUCKETS, sizeof *u->atomics_on);
    if (u->atomics_on)
        u->atomics_on[line * 0x9e3779b97f4a7c15ull >> 48]++;
}

/* ---- the L2 ---- */

static bool l2_touch(L2Unit *u, u64 line, u8 sectors, bool written)
{
    CacheLine out, before = cache_touch(u->l2, line, sectors, written, &out);
    if (out.dirty)
        l2_unit_evict(u, &out);
    const Caches *c = u->caches;
    if (written && counted_at_l2(c))
        write_to_memory(&u->traffic, before.dirty | (c->mall.lines ? cache_peek(&c->mall, line).dirty : 0), sectors);
    return written ? before.valid != 0 : (before.valid & sectors) == sectors;
}

/* A request to a line that is not modelled. */
static bool left_out(L2Unit *u, Request r)
{
    if (likely(!u->caches->in_part) || cache_in_part(u->l2, r.line))
        return false;
    u->traffic.left_out++;
    if (u->by_instruction && r.inst != NO_INST)
        u->by_instruction[r.inst].left_out++;
    return true;
}

static void count_l2(L2Unit *u, Request r, bool hit)
{
    u->traffic.read_misses += !hit && r.kind != REQUEST_WRITE;
    u->traffic.hits += hit;
    u->traffic.misses += !hit;
    if (!u->by_instruction || r.inst == NO_INST)
        return;
    u->by_instruction[r.inst].writes = r.kind == REQUEST_WRITE;
    u->by_instruction[r.inst].hits += hit;
    u->by_instruction[r.inst].misses += !hit;
}

/* A line of 256 bytes brings the other half along. */
static void l2_fetch(L2Unit *u, u64 line)
{
    fabric_read(u, line);
    if (u->caches->shape->l2_line_bytes > LINE_BYTES && !l2_touch(u, line ^ 1, ALL_SECTORS, false))
        fabric_read(u, line ^ 1);
}

static void l2_read(L2Unit *u, Request r)
{
    u->traffic.reads++;
    count_channel(u, r.line);
    if (left_out(u, r))
        return;
    bool hit = l2_touch(u, r.line, r.sectors, false);
    if (!hit)
        l2_fetch(u, r.line);
    count_l2(u, r, hit);
}

/* A request of 64 bytes for each half of the line. */
static void l2_modify(L2Unit *u, Request r)
{
    for (u32 half = 0; half < 2; half++) {
        u8 sectors = r.sectors & (half ? 12 : 3);
        if (!sectors)
            continue;
        bool hit, atomic = r.kind == REQUEST_ATOMIC;
        count_channel(u, r.line);
        u->traffic.atomics += atomic;
        u->traffic.writes += !atomic;
        if (atomic)
            count_atomic(u, r.line);
        if (left_out(u, r))
            continue;
        u->traffic.written++;
        if (atomic) {
            hit = l2_touch(u, r.line, sectors, false);
            if (!hit)
                l2_fetch(u, r.line);
            l2_touch(u, r.line, sectors, true);
        } else {
            hit = l2_touch(u, r.line, sectors, true);
        }
        count_l2(u, r, hit);
    }
}

/* ---- before the L2 ---- */

static void read_line(L2Unit *u, const Path *p, Request r)
{
    CacheLine out;
    bool hit = p->gl1 && cache_touch(p->gl1, r.line, r.sectors, false, &out).valid;
    u->traffic.gl1_hits += hit;
    u->traffic.gl1_misses += p->gl1 && !hit;
    if (!hit)
        l2_read(u, r);
}

static void scalar_read(L2Unit *u, const Path *p, Request r)
{
    CacheLine out, before = cache_touch(p->scalar, r.line, r.sectors, false, &out);
    bool hit = (before.valid & r.sectors) == r.sectors;
    u->traffic.scalar_hits += hit;
    u->traffic.scalar_misses += !hit;
    if (!hit)
        read_line(u, p, r);
}

void l2_unit_take(L2Unit *u, const Path *p, Request r)
{
    if (r.kind == REQUEST_SCALAR) {
        scalar_read(u, p, r);
    } else if (r.kind == REQUEST_READ) {
        read_line(u, p, r);
    } else {
        if (p->gl1)
            cache_forget(p->gl1, r.line);
        l2_modify(u, r);
    }
}
