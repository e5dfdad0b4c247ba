/*
 * Threads and workgroups of the memory model: traces through the vL1D.
 *
 * The waves of a workgroup take turns, a vector memory instruction each, and wait for each other at barriers. The vL1D
 * is empty when a workgroup starts, and the workgroups that fit on a CU together have equal parts of its ways. Stores
 * and atomics bypass it (it writes through and does not allocate); a line that is stored to stays readable.
 */
#include "model/l1.h"

#include <stdlib.h>

#include "model/lds.h"

/* ---- the vL1D of a CU, which is only read: the time of the last use of each line, and buckets to find a line in ---- */

enum { L1_LINES = 256, L1_BUCKETS = 512 };

typedef struct {
    u64 line[L1_LINES];
    u32 used[L1_LINES]; /* when; 0: not yet */
    u16 chain[L1_LINES], bucket[L1_BUCKETS];
    u32 ways, now;
    u32 expected[4];    /* of each set: the way that is likely to be the oldest */
} L1;

enum { NOBODY = 0xffff, L1_SETS = 4 };

static u32 bucket_of(u64 line) { return (u32)(line * 0x9e3779b97f4a7c15ull >> 55); }

/* `ways` of the 64 are this workgroup's. */
static void l1_reset(L1 *c, u32 ways)
{
    memset(c->bucket, 0xff, sizeof c->bucket);
    memset(c->line, 0xff, sizeof c->line);
    memset(c->used, 0, sizeof c->used);
    memset(c->expected, 0, sizeof c->expected);
    c->ways = ways;
    c->now = 0;
}

static void forget(L1 *c, u32 slot)
{
    if (c->line[slot] == ~0ull)
        return;
    u16 *link = &c->bucket[bucket_of(c->line[slot])];
    while (*link != slot)
        link = &c->chain[*link];
    *link = c->chain[slot];
}

/* The slot of the set that was used longest ago: in streams, the one after the last that was taken. */
static u32 oldest(L1 *c, u32 set)
{
    const u32 *used = &c->used[set * L1_WAYS];
    u32 earliest = used[0], way = c->expected[set];
    for (u32 k = 1; k < c->ways; k++)
        earliest = used[k] < earliest ? used[k] : earliest;
    while (used[way] != earliest)
        way = way + 1 < c->ways ? way + 1 : 0;
    c->expected[set] = way + 1 < c->ways ? way + 1 : 0;
    return set * L1_WAYS + way;
}

static bool l1_touch(L1 *c, u64 line)
{
    if (++c->now == 0) { /* after 2^32 uses all count as equally old */
        memset(c->used, 0, sizeof c->used);
        c->now = 1;
    }
    u16 *bucket = &c->bucket[bucket_of(line)];
    for (u32 slot = *bucket; slot != NOBODY; slot = c->chain[slot])
        if (c->line[slot] == line) {
            c->used[slot] = c->now;
            return true;
        }
    u32 slot = oldest(c, (u32)(line ^ line >> 7) % L1_SETS);
    forget(c, slot);
    c->line[slot] = line;
    c->used[slot] = c->now;
    c->chain[slot] = *bucket;
    *bucket = (u16)slot;
    return false;
}

/* ---- threads and workgroups ---- */

enum { DRAIN_REQUESTS = 1 << 20 };

struct L1View {
    L2Model *model;
    LdsModel *lds;
    TraceLines *lines;
    TcpCounts tcp;
    u64 read_requests, l1_hits, longest_wave;
    bool whole_lines; /* a line of the vL1D is one of the L2, and not half of it */
    Reach *places;    /* of each instruction, or NULL */
};

struct L1Group {
    u32 waves;
    Trace *wave;
    u64 *at;       /* how far each wave's trace has been read */
    u64 *accesses; /* vector memory instructions of each wave */
    L1 l1[2];      /* this workgroup's part of the vL1D of its CU, or of both CUs of its WGP */
    Log misses;
    bool begun;
};

/* ---- a thread ---- */

L1View *l1_view_create(L2Model *m)
{
    L1View *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->model = m;
    v->lds = lds_model_create(l2_shape(m), l2_lanes(m));
    v->lines = trace_lines_create(l2_shape(m), l2_lanes(m));
    v->whole_lines = l2_shape(m)->l1_line_bytes == LINE_BYTES;
    if (v->lds && v->lines)
        return v;
    l1_view_destroy(v);
    return NULL;
}

void l1_view_destroy(L1View *v)
{
    if (!v)
        return;
    lds_model_destroy(v->lds);
    trace_lines_destroy(v->lines);
    free(v->places);
    free(v);
}

bool l1_view_note_places(L1View *v, u32 count)
{
    v->places = calloc(count + 1, sizeof *v->places);
    return v->places != NULL;
}

Reach *l1_view_places(L1View *v) { return v->places; }

MemoryWork l1_view_work(const L1View *v)
{
    const u64 *lines = v->tcp.lines;
    return (MemoryWork){lines[ACCESS_LOAD] + lines[ACCESS_STORE] + lines[ACCESS_ATOMIC], v->tcp.tag_lookups};
}

void l1_view_count(const L1View *v, u64 *counters)
{
    const TcpCounts *n = &v->tcp;
    counters[COUNTER_TCP_TOTAL_READ_sum] += n->accesses[ACCESS_LOAD];
    counters[COUNTER_TCP_TOTAL_WRITE_sum] += n->accesses[ACCESS_STORE];
    for (int kind = 0; kind < 3; kind++)
        counters[COUNTER_TCP_TOTAL_ACCESSES_sum] += n->accesses[kind];
    counters[COUNTER_TCP_TOTAL_CACHE_ACCESSES_sum] += n->tag_lookups;
    counters[COUNTER_TCP_TCC_READ_REQ_sum] += v->read_requests;
    counters[COUNTER_TCP_TCC_WRITE_REQ_sum] += n->write_requests;
    counters[COUNTER_TCP_TCC_ATOMIC_WITH_RET_REQ_sum] += n->atomic_requests[1];
    counters[COUNTER_TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum] += n->atomic_requests[0];
    counters[COUNTER_cache_lines_loaded] += n->lines[ACCESS_LOAD];
    counters[COUNTER_cache_lines_stored] += n->lines[ACCESS_STORE] + n->lines[ACCESS_ATOMIC];
    counters[COUNTER_l1_line_hits] += v->l1_hits;
    if (v->longest_wave > counters[COUNTER_longest_wave_accesses])
        counters[COUNTER_longest_wave_accesses] = v->longest_wave;
}

/* ---- a workgroup ---- */

L1Group *l1_group_create(u32 waves)
{
    L1Group *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->waves = waves;
    t->wave = calloc(waves, sizeof *t->wave);
    t->at = calloc(waves, sizeof *t->at);
    t->accesses = calloc(waves, sizeof *t->accesses);
    if (t->wave && t->at && t->accesses)
        return t;
    l1_group_destroy(t);
    return NULL;
}

void l1_group_destroy(L1Group *t)
{
    if (!t)
        return;
    for (u32 n = 0; t->wave && n < t->waves; n++)
        free(t->wave[n].request);
    free(t->wave);
    free(t->at);
    free(t->accesses);
    free(t->misses.request);
    free(t);
}

Trace *l1_group_wave(L1Group *t, u32 wave) { return t ? &t->wave[wave] : NULL; }

/* ---- through the vL1D ---- */

/* The sectors of a read that the vL1D does not have. */
static u8 l1_misses(const L1View *v, L1 *l1, Request r)
{
    if (v->whole_lines)
        return l1_touch(l1, r.line) ? 0 : r.sectors;
    u8 missing = 0;
    for (u32 half = 0; half < 2; half++) {
        u8 part = r.sectors & (half ? 12 : 3);
        if (part && !l1_touch(l1, 2ull * r.line + half))
            missing |= part;
    }
    return missing;
}

static void read_line(L1View *v, L1Group *t, L1 *l1, Request r, PcCounts *pcs)
{
    u8 missing = l1_misses(v, l1, r);
    u32 halves = (u32)!!(missing & 3) + (u32)!!(missing & 12);
    v->read_requests += v->whole_lines ? missing != 0 : halves;
    if (!missing) {
        v->l1_hits++;
        if (pcs && r.inst != NO_INST)
            pcs[r.inst].l1_hits++;
        return;
    }
    r.sectors = missing;
    trace_add(&t->misses, r);
}

/* All lines of a wave's next instruction. False when the wave is at a barrier or has no more. */
static bool next_turn(L1View *v, L1Group *t, u32 wave, PcCounts *pcs)
{
    const Trace *w = &t->wave[wave];
    L1 *l1 = &t->l1[wave % l2_l1_count(v->model)];
    u64 first = t->at[wave], at = first;
    for (; at < w->count; at++) {
        Request r = w->request[at];
        if (!r.sectors || (at > first && r.first))
            break;
        if (r.kind == REQUEST_READ)
            read_line(v, t, l1, r, pcs);
        else
            trace_add(&t->misses, r);
    }
    t->at[wave] = at;
    t->accesses[wave] += at > first;
    return at > first;
}

static void pass_barriers(L1Group *t)
{
    for (u32 n = 0; n < t->waves; n++)
        if (t->at[n] < t->wave[n].count)
            t->at[n]++;
}

static bool requests_left(const L1Group *t)
{
    bool left = false;
    for (u32 n = 0; n < t->waves; n++)
        left |= t->at[n] < t->wave[n].count;
    return left;
}

static void drain(L1View *v, L1Group *t, Worker *k)
{
    for (u32 n = 0; !t->begun && n < l2_l1_count(v->model); n++)
        l1_reset(&t->l1[n], l2_l1_ways(v->model));
    t->begun = true;
    while (requests_left(t)) {
        for (bool turns = true; turns;) {
            turns = false;
            for (u32 n = 0; n < t->waves; n++)
                turns |= next_turn(v, t, n, k->pcs);
        }
        pass_barriers(t);
    }
    for (u32 n = 0; n < t->waves; n++)
        t->at[n] = t->wave[n].count = 0;
}

void l1_group_relieve(L1View *v, L1Group *t, Worker *k)
{
    u64 requests = 0;
    for (u32 n = 0; n < t->waves; n++)
        requests += t->wave[n].count;
    if (unlikely(requests > DRAIN_REQUESTS))
        drain(v, t, k);
}

static void end(L1View *v, L1Group *t, Worker *k)
{
    drain(v, t, k);
    for (u32 n = 0; n < t->waves; n++) {
        v->longest_wave = t->accesses[n] > v->longest_wave ? t->accesses[n] : v->longest_wave;
        t->accesses[n] = 0;
    }
    t->begun = false;
}

void l1_group_end(L1View *v, L1Group *t, u64 number, Worker *k)
{
    end(v, t, k);
    l2_group(v->model, number, &t->misses);
}

void l1_group_take(L1View *v, L1Group *t, Worker *k, u64 *counters, Log *log)
{
    end(v, t, k);
    l1_view_count(v, counters);
    v->tcp = (TcpCounts){0};
    v->read_requests = v->l1_hits = v->longest_wave = 0;
    *log = t->misses;
    t->misses = (Log){0};
}

static void note_place(Reach *p, const u64 *address, u64 active)
{
    if (!p->lanes && active)
        p->first = address[__builtin_ctzll(active)];
    p->lanes += (u64)__builtin_popcountll(active);
    for (u64 left = active; left; left &= left - 1)
        p->sum += address[__builtin_ctzll(left)];
}

/* ---- an instruction ---- */

void l1_view_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, AccessKind kind)
{
    L1View *v = w->worker->view;
    u32 inst = instruction_number(w, i);
    if (unlikely(v->places))
        note_place(&v->places[inst], address, active);
    u32 lines = trace_access(w->trace, &v->tcp, v->lines, inst, address, active, bytes, kind, i->sc0);
    if (!w->worker->pcs)
        return;
    w->worker->pcs[inst].lines += lines;
    w->worker->pcs[inst].lines_stored += kind == ACCESS_LOAD ? 0 : lines;
}

void l1_view_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, AccessKind kind)
{
    u32 inst = instruction_number(w, i);
    LdsCycles c = lds_model_cycles(w->worker->view->lds, inst, offset, active, bytes, kind), *sum = &w->worker->lds;
    sum->active += c.active;
    sum->bank_conflicts += c.bank_conflicts;
    sum->address_conflicts += c.address_conflicts;
    sum->misaligned_lanes += c.misaligned_lanes;
    if (!w->worker->pcs)
        return;
    w->worker->pcs[inst].lds_cycles += c.active;
    w->worker->pcs[inst].lds_conflicts += c.bank_conflicts + c.address_conflicts;
}

void l1_view_scalar(Wave *w, const Inst *i, u64 address, u32 bytes, AccessKind kind)
{
    L1View *v = w->worker->view;
    if (unlikely(v->places))
        note_place(&v->places[instruction_number(w, i)], &address, 1);
    u32 lines = trace_scalar(w->trace, instruction_number(w, i), address, bytes, kind);
    v->tcp.lines[kind] += kind == ACCESS_LOAD ? 0 : lines;
}
