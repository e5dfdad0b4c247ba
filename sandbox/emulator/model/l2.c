/*
 * The requests of workgroups through scalar cache, graphics L1, L2, Infinity Cache and memory.
 *
 * residency.c determines where a workgroup runs, and which workgroups form a round. The workgroups of a round take turns
 * of TURN lines in the order of their numbers, and the next round begins when the round before has ended. So the order
 * depends on the numbers only, and a thread that completes a round can replay it while the others continue.
 *
 * The graphics L1 is read only: stores and atomics bypass it and evict their line; it is empty when a dispatch starts.
 * The L2 writes back and allocates on stores without fetching. Requests to it have 128 bytes if they read and 64 if they
 * write (TCP_TCC_*_REQ; assumed for RDNA as well). The Infinity Cache holds reads and writes alike. A sector counts as written
 * to memory when it becomes dirty in the last cache before memory: it will be written at some time.
 */
#include "model/l2.h"

#include <pthread.h>
#include <stdlib.h>

#include "model/residency.h"

enum {
    TURN = 16,
    CHANNELS = 16,        /* of an L2, which take turns of 256 bytes; a real one mixes in higher bits of the address */
    CHANNEL_WINDOW = 1024, /* requests to an L2 that are in flight together: a few dozen for each CU */
    ATOMIC_BUCKETS = 1 << 16, /* lines that share a bucket count as one: never fewer than there are */
};

typedef struct Round Round;
/* `moved`, if not NULL: see l2_replay(); the logs belong to others then. */
struct Round { u64 first; u32 size, done; Log *log; u64 *at; const i64 **moved; Round *next; };

/* In lines, requests of 64 and 32 bytes, or bytes. */
typedef struct {
    u64 reads, writes, atomics, hits, misses;
    u64 fabric_reads, fabric_writes_64, fabric_writes_32;
    u64 mall_hits, mall_misses, memory_bytes_read, memory_bytes_written;
    u64 scalar_hits, scalar_misses, gl1_hits, gl1_misses;
} Traffic;

/* Requests of the window to each channel, and those that the busiest channel had in the windows before. */
typedef struct { u32 channel[CHANNELS], count; u64 busiest; } Channels;

struct L2Model {
    const GpuShape *shape;
    Caches *caches;
    bool own_caches;
    Residency residency;
    u64 total;
    pthread_mutex_t lock; /* of what follows */
    Round *rounds;        /* open, in order */
    u64 next_first;       /* where the round begins that is to be replayed next */
    bool replaying;       /* the rest belongs to one thread at a time */
    Traffic traffic;
    Channels *channels;   /* of each L2 */
    u32 *atomics_on;      /* requests, by bucket of the line; NULL until there is one */
    PcCounts *pcs;
    u32 pc_count;
    const u32 *slot_of;   /* see l2_replay() */
};

/* ---- a dispatch ---- */

L2Model *l2_create(const Dispatch *d)
{
    const GpuShape *s = d->program->shape;
    L2Model *m = s ? calloc(1, sizeof *m) : NULL;
    if (!m)
        return NULL;
    m->shape = s;
    m->total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    m->residency = residency_of(d, s);
    m->caches = d->caches ? d->caches : caches_create(s->arch);
    m->own_caches = !d->caches;
    m->pc_count = d->program->count;
    m->pcs = d->count_pcs ? calloc(d->program->count + 1, sizeof *m->pcs) : NULL;
    m->channels = calloc(s->l2_count, sizeof *m->channels);
    pthread_mutex_init(&m->lock, NULL);
    if (m->caches && m->channels && (m->pcs || !d->count_pcs))
        return m;
    l2_destroy(m);
    return NULL;
}

static void round_destroy(Round *r)
{
    for (u32 n = 0; r->log && !r->moved && n < r->size; n++)
        free(r->log[n].request);
    for (u32 n = 0; r->moved && n < r->size; n++)
        free((void *)(uintptr_t)r->moved[n]);
    free(r->moved);
    free(r->log);
    free(r->at);
    free(r);
}

void l2_destroy(L2Model *m)
{
    if (!m)
        return;
    while (m->rounds) {
        Round *next = m->rounds->next;
        round_destroy(m->rounds);
        m->rounds = next;
    }
    if (m->own_caches)
        caches_destroy(m->caches);
    pthread_mutex_destroy(&m->lock);
    free(m->channels);
    free(m->atomics_on);
    free(m->pcs);
    free(m);
}

const GpuShape *l2_shape(const L2Model *m) { return m->shape; }
u32 l2_lanes(const L2Model *m) { return m->residency.lanes; }
u32 l2_l1_count(const L2Model *m) { return m->residency.cus_per_unit; }

u32 l2_l1_ways(const L2Model *m)
{
    u32 ways = L1_WAYS / m->residency.groups_per_unit;
    return ways ? ways : 1;
}

/* ---- behind the L2 ---- */

static u32 sectors_of(u8 mask) { return (u32)__builtin_popcount(mask); }

static void write_to_memory(L2Model *m, u8 dirty_before, u8 sectors)
{
    m->traffic.memory_bytes_written += SECTOR_BYTES * sectors_of((u8)(sectors & ~dirty_before));
}

/* What became dirty in an L2 that outlives the dispatch may reach the Infinity Cache in a later one. */
static bool counted_at_l2(const L2Model *m) { return m->shape->l2_survives || !m->caches->mall.lines; }

static void fabric_read(L2Model *m, u64 line)
{
    CacheLine out;
    m->traffic.fabric_reads++;
    if (m->caches->mall.lines && cache_touch(&m->caches->mall, line, ALL_SECTORS, false, &out).valid == ALL_SECTORS) {
        m->traffic.mall_hits++;
        return;
    }
    m->traffic.mall_misses += m->caches->mall.lines != NULL;
    m->traffic.memory_bytes_read += LINE_BYTES;
}

static void fabric_write(void *context, const CacheLine *line)
{
    L2Model *m = context;
    for (u32 half = 0; half < 2; half++) {
        u32 sectors = sectors_of(line->dirty >> 2 * half & 3);
        m->traffic.fabric_writes_64 += sectors == 2;
        m->traffic.fabric_writes_32 += sectors == 1;
    }
    CacheLine out, before;
    if (!m->caches->mall.lines)
        return;
    before = cache_touch(&m->caches->mall, line->line, line->dirty, true, &out);
    if (!counted_at_l2(m))
        write_to_memory(m, before.dirty, line->dirty);
}

/* ---- what waits for one channel or one line ---- */

static void end_window(Channels *c)
{
    u32 most = 0;
    for (u32 n = 0; n < CHANNELS; n++)
        most = c->channel[n] > most ? c->channel[n] : most;
    *c = (Channels){.busiest = c->busiest + most};
}

static void count_channel(L2Model *m, const Cache *l2, u64 line)
{
    Channels *c = &m->channels[l2 - m->caches->l2];
    c->channel[line / 2 % CHANNELS]++;
    if (++c->count == CHANNEL_WINDOW)
        end_window(c);
}

static void count_atomic(L2Model *m, u64 line)
{
    if (!m->atomics_on)
        m->atomics_on = calloc(ATOMIC_BUCKETS, sizeof *m->atomics_on);
    if (m->atomics_on)
        m->atomics_on[line * 0x9e3779b97f4a7c15ull >> 48]++;
}

static u64 most_atomics(const L2Model *m)
{
    u32 most = 0;
    for (u32 n = 0; m->atomics_on && n < ATOMIC_BUCKETS; n++)
        most = m->atomics_on[n] > most ? m->atomics_on[n] : most;
    return most;
}

static u64 busiest_channel(L2Model *m)
{
    u64 most = 0;
    for (u32 n = 0; n < m->shape->l2_count; n++) {
        end_window(&m->channels[n]);
        most = m->channels[n].busiest > most ? m->channels[n].busiest : most;
    }
    return most;
}

/* ---- the L2 ---- */

static bool l2_touch(L2Model *m, Cache *l2, u64 line, u8 sectors, bool written)
{
    CacheLine out, before = cache_touch(l2, line, sectors, written, &out);
    if (out.dirty)
        fabric_write(m, &out);
    if (written && counted_at_l2(m))
        write_to_memory(m, before.dirty | (m->caches->mall.lines ? cache_peek(&m->caches->mall, line).dirty : 0), sectors);
    return written ? before.valid != 0 : (before.valid & sectors) == sectors;
}

static void count_l2(L2Model *m, Request r, bool hit)
{
    m->traffic.hits += hit;
    m->traffic.misses += !hit;
    if (!m->pcs || r.inst == NO_INST)
        return;
    m->pcs[r.inst].l2_hits += hit;
    m->pcs[r.inst].l2_misses += !hit;
}

/* A line of 256 bytes brings the other half along. */
static void l2_fetch(L2Model *m, Cache *l2, u64 line)
{
    fabric_read(m, line);
    if (m->shape->l2_line_bytes > LINE_BYTES && !l2_touch(m, l2, line ^ 1, ALL_SECTORS, false))
        fabric_read(m, line ^ 1);
}

static void l2_read(L2Model *m, Cache *l2, Request r)
{
    bool hit = l2_touch(m, l2, r.line, r.sectors, false);
    m->traffic.reads++;
    count_channel(m, l2, r.line);
    if (!hit)
        l2_fetch(m, l2, r.line);
    count_l2(m, r, hit);
}

/* A request of 64 bytes for each half of the line. */
static void l2_modify(L2Model *m, Cache *l2, Request r)
{
    for (u32 half = 0; half < 2; half++) {
        u8 sectors = r.sectors & (half ? 12 : 3);
        if (!sectors)
            continue;
        bool hit;
        count_channel(m, l2, r.line);
        if (r.kind == REQUEST_ATOMIC) {
            count_atomic(m, r.line);
            hit = l2_touch(m, l2, r.line, sectors, false);
            if (!hit)
                l2_fetch(m, l2, r.line);
            l2_touch(m, l2, r.line, sectors, true);
            m->traffic.atomics++;
        } else {
            hit = l2_touch(m, l2, r.line, sectors, true);
            m->traffic.writes++;
        }
        count_l2(m, r, hit);
    }
}

/* ---- before the L2 ---- */

typedef struct { Cache *l2, *gl1, *scalar; } Path;

static Path path_of(const L2Model *m, u64 group)
{
    const GpuShape *s = m->shape;
    u32 cluster = residency_cluster(s, group), cu = residency_cu(&m->residency, s, group);
    return (Path){.l2 = &m->caches->l2[cluster % s->l2_count],
                  .gl1 = m->caches->gl1 ? &m->caches->gl1[cluster] : NULL,
                  .scalar = &m->caches->scalar[cluster * ((s->cus_per_cluster + 1) / 2) + cu / 2]};
}

static void read_line(L2Model *m, const Path *p, Request r)
{
    CacheLine out;
    bool hit = p->gl1 && cache_touch(p->gl1, r.line, r.sectors, false, &out).valid;
    m->traffic.gl1_hits += hit;
    m->traffic.gl1_misses += p->gl1 && !hit;
    if (!hit)
        l2_read(m, p->l2, r);
}

static void modify_line(L2Model *m, const Path *p, Request r)
{
    if (p->gl1)
        cache_forget(p->gl1, r.line);
    l2_modify(m, p->l2, r);
}

static void scalar_read(L2Model *m, const Path *p, Request r)
{
    Cache *c = p->scalar;
    CacheLine out, before = cache_touch(c, r.line, r.sectors, false, &out);
    bool hit = (before.valid & r.sectors) == r.sectors;
    m->traffic.scalar_hits += hit;
    m->traffic.scalar_misses += !hit;
    if (!hit)
        read_line(m, p, r);
}

/* ---- a round ---- */

static Request request_of(const L2Model *m, const Round *r, u32 n, u64 at)
{
    Request q = r->log[n].request[at];
    if (unlikely(r->moved && r->moved[n]))
        q.line += (u64)r->moved[n][m->slot_of[q.inst]];
    return q;
}

static bool take_turn(L2Model *m, Round *r, u32 n)
{
    u64 at = r->at[n], end = at + TURN;
    Path p = path_of(m, r->first + n);
    for (u64 k = at; k < r->log[n].count && k < end; k++) {
        u64 line = request_of(m, r, n, k).line;
        cache_prefetch(p.l2, line);
        if (m->caches->mall.lines)
            cache_prefetch(&m->caches->mall, line);
    }
    for (; at < r->log[n].count && at < end; at++) {
        Request q = request_of(m, r, n, at);
        if (q.kind == REQUEST_SCALAR)
            scalar_read(m, &p, q);
        else if (q.kind == REQUEST_READ)
            read_line(m, &p, q);
        else
            modify_line(m, &p, q);
    }
    r->at[n] = at;
    return at < r->log[n].count;
}

static void replay(L2Model *m, Round *r)
{
    for (bool left = true; left;) {
        left = false;
        for (u32 n = 0; n < r->size; n++)
            left |= take_turn(m, r, n);
    }
}

static Round *round_create(const L2Model *m, u64 first, Round *next)
{
    Round *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    u64 left = m->total - first;
    *r = (Round){.first = first, .size = (u32)(left < m->residency.round_size ? left : m->residency.round_size), .next = next};
    r->log = calloc(r->size, sizeof *r->log);
    r->at = calloc(r->size, sizeof *r->at);
    if (r->log && r->at)
        return r;
    round_destroy(r);
    return NULL;
}

/* The open round that begins at `first`. Rounds are in order. */
static Round *open_round(L2Model *m, u64 first)
{
    Round **at = &m->rounds, *r;
    while (*at && (*at)->first < first)
        at = &(*at)->next;
    if (*at && (*at)->first == first)
        return *at;
    r = round_create(m, first, *at);
    return r ? *at = r : NULL;
}

void l2_replay(L2Model *m, const u32 *slot_of, LikelyOf *of, void *context)
{
    m->slot_of = slot_of;
    for (u64 first = 0; first < m->total; first += m->residency.round_size) {
        Round *r = round_create(m, first, NULL);
        if (!r || !(r->moved = calloc(r->size, sizeof *r->moved))) {
            if (r)
                round_destroy(r);
            return;
        }
        for (u32 n = 0; n < r->size; n++) {
            Likely l = of(context, first + n);
            r->log[n] = *l.log;
            r->moved[n] = l.moved;
        }
        replay(m, r);
        round_destroy(r);
    }
}

static Round *take_ready(L2Model *m)
{
    Round *r = m->rounds;
    if (!r || r->first != m->next_first || r->done < r->size)
        return NULL;
    m->rounds = r->next;
    m->next_first += m->residency.round_size;
    return r;
}

void l2_group(L2Model *m, u64 number, Log *log)
{
    pthread_mutex_lock(&m->lock);
    Round *r = open_round(m, number / m->residency.round_size * m->residency.round_size), *ready;
    if (r) {
        r->log[number - r->first] = *log;
        *log = (Log){0};
        r->done++;
    }
    log->count = 0;
    if (!m->replaying) {
        m->replaying = true;
        while ((ready = take_ready(m))) {
            pthread_mutex_unlock(&m->lock);
            replay(m, ready);
            round_destroy(ready);
            pthread_mutex_lock(&m->lock);
        }
        m->replaying = false;
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---- the end ---- */

static void empty_caches(L2Model *m)
{
    Caches *c = m->caches;
    for (u32 n = 0; !m->shape->l2_survives && n < m->shape->l2_count; n++)
        cache_empty(&c->l2[n], fabric_write, m);
    for (u32 n = 0; n < caches_scalar_count(m->shape); n++)
        cache_empty(&c->scalar[n], fabric_write, m);
    for (u32 n = 0; c->gl1 && n < m->shape->clusters; n++)
        cache_empty(&c->gl1[n], fabric_write, m);
}

/* Fabric reads are counted as the part does: 128-byte requests on gfx942 (counted by TCC_BUBBLE), two of 64 on gfx90a. */
void l2_finish(L2Model *m, u64 *counters, PcCounts *pcs)
{
    empty_caches(m);
    const Traffic *t = &m->traffic;
    bool halves = m->shape->l1_line_bytes < LINE_BYTES;
    counters[COUNTER_TCC_REQ_sum] += t->reads + t->writes + t->atomics;
    counters[COUNTER_TCC_READ_sum] += t->reads;
    counters[COUNTER_TCC_WRITE_sum] += t->writes;
    counters[COUNTER_TCC_ATOMIC_sum] += t->atomics;
    counters[COUNTER_TCC_HIT_sum] += t->hits;
    counters[COUNTER_TCC_MISS_sum] += t->misses;
    counters[COUNTER_TCC_BUBBLE_sum] += halves ? 0 : t->fabric_reads;
    counters[COUNTER_TCC_EA0_RDREQ_sum] += halves ? 2 * t->fabric_reads : t->fabric_reads;
    counters[COUNTER_TCC_EA0_WRREQ_sum] += t->fabric_writes_64 + t->fabric_writes_32;
    counters[COUNTER_TCC_EA0_WRREQ_64B_sum] += t->fabric_writes_64;
    counters[COUNTER_SQC_DCACHE_HITS] += t->scalar_hits;
    counters[COUNTER_SQC_DCACHE_MISSES] += t->scalar_misses;
    counters[COUNTER_gl1_hits] += t->gl1_hits;
    counters[COUNTER_gl1_misses] += t->gl1_misses;
    counters[COUNTER_mall_hits] += t->mall_hits;
    counters[COUNTER_mall_misses] += t->mall_misses;
    counters[COUNTER_memory_bytes_read] += t->memory_bytes_read;
    counters[COUNTER_memory_bytes_written] += t->memory_bytes_written;
    counters[COUNTER_atomics_on_one_line] += most_atomics(m);
    counters[COUNTER_busiest_channel_requests] += busiest_channel(m);
    for (u32 n = 0; pcs && m->pcs && n < m->pc_count; n++) {
        pcs[n].l2_hits += m->pcs[n].l2_hits;
        pcs[n].l2_misses += m->pcs[n].l2_misses;
    }
}
