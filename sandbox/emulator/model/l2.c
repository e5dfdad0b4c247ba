/*
 * The requests of workgroups through scalar cache, graphics L1, L2, Infinity Cache and memory.
 *
 * residency.c determines where a workgroup runs, and which workgroups form a round. The workgroups of a round take turns
 * of TURN lines in the order of their numbers, and the next round begins when the round before has ended. So the order
 * depends on the numbers only, and a thread that completes a round can replay it while the others continue.
 *
 * Where there are several L2s, each takes all of its turns of a stretch before the next does, on a thread of its own if there
 * are: its lines then stay in the host's cache. What they ask of the Infinity Cache follows in the order of all turns.
 */
#include "model/l2.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/fabric.h"
#include "model/l2_unit.h"
#include "model/residency.h"

enum {
    TURN = 16,
    STRETCH = 1 << 20,     /* requests, which bounds what the L2s keep */
    WORTH_THREADS = 1 << 16,
    MOST_THREADS = 16,
    PART_ABOVE = 1 << 26,  /* requests of a dispatch: 1.5 s of a core */
};

typedef struct Round Round;
/* `moved`, if not NULL: see l2_replay(); the logs belong to others then. */
struct Round { u64 first; u32 size, done; Log *log; u64 *at; const i64 **moved; Round *next; };

struct L2Model {
    const GpuShape *shape;
    Caches *caches;
    bool own_caches;
    Residency residency;
    u64 total;
    u64 part_above;
    u32 threads;
    pthread_mutex_t lock; /* of what follows */
    Round *rounds;        /* open, in order */
    u64 next_first;       /* where the round begins that is to be replayed next */
    bool replaying;       /* the rest belongs to one thread at a time */
    L2Unit *unit;         /* for each L2 */
    Fabric fabric;
    Traffic traffic;      /* of the Infinity Cache, where the units keep events */
    u32 pc_count;
    const u32 *slot_of;   /* see l2_replay() */
};

/* ---- a dispatch ---- */

static bool units_create(L2Model *m, bool by_instruction)
{
    u32 count = m->shape->l2_count;
    m->unit = calloc(count, sizeof *m->unit);
    for (u32 n = 0; m->unit && n < count; n++) {
        m->unit[n] = (L2Unit){.caches = m->caches, .l2 = &m->caches->l2[n],
                              .keeps = count > 1 && l2_unit_alone(m->caches)};
        if (by_instruction && !(m->unit[n].by_instruction = calloc(m->pc_count + 1, sizeof(HitsOf))))
            return false;
    }
    return m->unit != NULL;
}

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
    m->fabric.caches = m->caches;
    m->pc_count = d->program->count;
    m->part_above = d->part_above ? d->part_above : PART_ABOVE;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    m->threads = d->threads ? d->threads : cores > 0 ? (u32)cores : 1;
    pthread_mutex_init(&m->lock, NULL);
    if (m->caches && units_create(m, d->count_pcs))
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
    for (u32 n = 0; m->unit && n < m->shape->l2_count; n++) {
        free(m->unit[n].atomics_on);
        free(m->unit[n].by_instruction);
        free(m->unit[n].event);
    }
    free(m->unit);
    free(m->fabric.readers);
    if (m->own_caches)
        caches_destroy(m->caches);
    pthread_mutex_destroy(&m->lock);
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

/* ---- a round ---- */

static Request request_of(const L2Model *m, const Round *r, u32 n, u64 at)
{
    Request q = r->log[n].request[at];
    if (unlikely(r->moved && r->moved[n]))
        q.line += (u64)r->moved[n][m->slot_of[q.inst]];
    return q;
}

static u32 unit_of(const L2Model *m, u64 group) { return residency_cluster(m->shape, group) % m->shape->l2_count; }

static Path path_of(const L2Model *m, u64 group)
{
    const GpuShape *s = m->shape;
    u32 cluster = residency_cluster(s, group), cu = residency_cu(&m->residency, s, group);
    return (Path){.gl1 = m->caches->gl1 ? &m->caches->gl1[cluster] : NULL,
                  .scalar = &m->caches->scalar[cluster * ((s->cus_per_cluster + 1) / 2) + cu / 2]};
}

static bool take_turn(const L2Model *m, L2Unit *u, Round *r, u32 n)
{
    u64 at = r->at[n], end = at + TURN;
    if (at >= r->log[n].count)
        return false;
    end = end < r->log[n].count ? end : r->log[n].count;
    Path p = path_of(m, r->first + n);
    Request turn[TURN];
    for (u64 k = at; k < end; k++) {
        Request q = turn[k - at] = request_of(m, r, n, k);
        if (!m->caches->in_part)
            cache_prefetch(u->l2, q.line);
        if (!u->keeps && m->caches->mall.lines)
            cache_prefetch(&m->caches->mall, q.line);
    }
    for (u64 k = at; k < end; k++)
        l2_unit_take(u, &p, turn[k - at]);
    r->at[n] = end;
    const Request *next = &r->log[n].request[end]; /* of its next turn, a prefetch past the end is none */
    __builtin_prefetch(next);
    __builtin_prefetch(next + TURN / 2);
    return end < r->log[n].count;
}

/* The turns [first_turn, last_turn) of the round's workgroups at the L2s `unit`, `unit + threads`, … */
typedef struct { const L2Model *m; Round *r; u32 unit, threads; u64 first_turn, last_turn; bool left; } Stretch;

static void *stretch_run(void *context)
{
    Stretch *s = context;
    for (u32 number = s->unit; number < s->m->shape->l2_count; number += s->threads) {
        L2Unit *u = &s->m->unit[number];
        bool left = true;
        for (u64 turn = s->first_turn; left && turn < s->last_turn; turn++) {
            left = false;
            for (u32 n = 0; n < s->r->size; n++) {
                if (unit_of(s->m, s->r->first + n) != number)
                    continue;
                u->turn = turn * s->r->size + n;
                left |= take_turn(s->m, u, s->r, n);
            }
        }
        s->left |= left;
    }
    return NULL;
}

static void replay(L2Model *m, Round *r, u32 threads)
{
    u64 requests = 0, turns = STRETCH / TURN / (r->size ? r->size : 1) + 1;
    for (u32 n = 0; n < r->size; n++)
        requests += r->log[n].count;
    bool on_its_own = m->unit[0].keeps; /* else the order of the turns is that of the Infinity Cache */
    threads = on_its_own && requests >= WORTH_THREADS ? threads : 1;
    threads = threads < m->shape->l2_count ? threads : m->shape->l2_count;
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (!on_its_own)
        turns = 1;
    bool left = true;
    for (u64 turn = 0; left; turn += turns) {
        Stretch part[MOST_THREADS];
        pthread_t thread[MOST_THREADS];
        bool started[MOST_THREADS] = {false};
        left = false;
        for (u32 n = 0; n < threads; n++)
            part[n] = (Stretch){m, r, n, threads, turn, turn + turns, false};
        for (u32 n = 1; n < threads; n++)
            started[n] = pthread_create(&thread[n], NULL, stretch_run, &part[n]) == 0;
        for (u32 n = 0; n < threads; n++)
            if (!started[n])
                stretch_run(&part[n]);
        for (u32 n = 0; n < threads; n++) {
            if (started[n])
                pthread_join(thread[n], NULL);
            left |= part[n].left;
        }
        if (on_its_own && m->caches->mall.lines)
            fabric_in_order(&m->fabric, m->unit, m->shape->l2_count, &m->traffic);
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

/* Where a dispatch makes very many requests, a part of the sets stands for all: the others are counted, not modelled. */
static void choose_part(L2Model *m, const Round *first)
{
    u64 requests = 0;
    for (u32 n = 0; n < first->size; n++)
        requests += first->log[n].count;
    if ((double)requests * (double)m->total / first->size > (double)m->part_above && caches_can_be_in_part(m->caches))
        m->caches->in_part = true;
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
        if (!first)
            choose_part(m, r);
        replay(m, r, m->threads);
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
            replay(m, ready, 1); /* the other threads run workgroups */
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
    for (u32 n = 0; n < m->shape->l2_count; n++) {
        m->unit[n].keeps = false;
        if (!m->shape->l2_survives)
            cache_empty(&c->l2[n], l2_unit_evict, &m->unit[n]);
    }
    for (u32 n = 0; n < caches_scalar_count(m->shape); n++)
        cache_empty(&c->scalar[n], l2_unit_evict, m->unit);
    for (u32 n = 0; c->gl1 && n < m->shape->clusters; n++)
        cache_empty(&c->gl1[n], l2_unit_evict, m->unit);
}

static u64 most_atomics(const L2Model *m)
{
    u64 most = 0;
    for (u32 bucket = 0; bucket < ATOMIC_BUCKETS; bucket++) {
        u64 here = 0;
        for (u32 n = 0; n < m->shape->l2_count; n++)
            here += m->unit[n].atomics_on ? m->unit[n].atomics_on[bucket] : 0;
        most = here > most ? here : most;
    }
    return most;
}

static u64 busiest_channel(L2Model *m)
{
    u64 most = 0;
    for (u32 n = 0; n < m->shape->l2_count; n++) {
        u64 here = l2_unit_busiest_channel(&m->unit[n]);
        most = here > most ? here : most;
    }
    return most;
}

static Traffic traffic_of_all(const L2Model *m)
{
    Traffic sum = m->traffic;
    u64 *to = (u64 *)&sum;
    for (u32 n = 0; n < m->shape->l2_count; n++) {
        const u64 *from = (const u64 *)&m->unit[n].traffic;
        for (u32 k = 0; k < sizeof sum / sizeof *to; k++)
            to[k] += from[k];
    }
    return sum;
}

static HitsOf hits_of(const L2Model *m, u32 instruction)
{
    HitsOf sum = {0};
    for (u32 n = 0; n < m->shape->l2_count; n++) {
        const HitsOf *own = m->unit[n].by_instruction;
        sum.hits += own ? own[instruction].hits : 0;
        sum.misses += own ? own[instruction].misses : 0;
        sum.left_out += own ? own[instruction].left_out : 0;
        sum.writes |= own && own[instruction].writes;
    }
    return sum;
}

static u64 scaled(u64 value, double by) { return (u64)(value * by + 0.5); }

/* Of all requests of an instruction as large a share misses as of those that were modelled; `usual`: where none was. */
static u64 misses_of(HitsOf h, double usual)
{
    u64 modelled = h.hits + h.misses;
    return modelled ? scaled(h.misses, (double)(modelled + h.left_out) / modelled) : scaled(h.left_out, usual);
}

static double usual_misses(const Traffic *t)
{
    return t->hits + t->misses ? (double)t->misses / (t->hits + t->misses) : 1;
}

/* From the part that was modelled to the whole: misses by instruction, since each has its own reuse, then what follows from
 * them. Requests are counted, whether they were modelled or not. */
static void complete(const L2Model *m, Traffic *t)
{
    if (!t->left_out)
        return;
    double usual = usual_misses(t), misses = 0, read_misses = 0;
    HitsOf rest = {.hits = t->hits, .misses = t->misses, .left_out = t->left_out};
    for (u32 n = 0; n < m->pc_count; n++) {
        HitsOf h = hits_of(m, n);
        u64 own = misses_of(h, usual);
        misses += own;
        read_misses += h.writes ? 0 : own;
        rest.hits -= h.hits;
        rest.misses -= h.misses;
        rest.left_out -= h.left_out;
    }
    u64 of_rest = misses_of(rest, usual);
    misses += of_rest;
    read_misses += of_rest; /* of instructions behind the last that has a place in a request */
    double reads = t->read_misses ? read_misses / t->read_misses : 1;
    double written = t->written ? (double)(t->writes + t->atomics) / t->written : 1;
    u64 all = t->reads + t->writes + t->atomics;
    t->misses = scaled(1, misses) < all ? scaled(1, misses) : all;
    t->hits = all - t->misses;
    u64 *of_reads[] = {&t->fabric_reads, &t->fabric_reads_again, &t->mall_hits, &t->memory_bytes_read};
    for (u32 n = 0; n < sizeof of_reads / sizeof *of_reads; n++)
        *of_reads[n] = scaled(*of_reads[n], reads);
    t->mall_misses = m->caches->mall.lines ? t->fabric_reads - t->mall_hits : 0;
    u64 *of_writes[] = {&t->fabric_writes_64, &t->fabric_writes_32, &t->memory_bytes_written};
    for (u32 n = 0; n < sizeof of_writes / sizeof *of_writes; n++)
        *of_writes[n] = scaled(*of_writes[n], written);
}

/* Fabric reads are counted as the part does: 128-byte requests on gfx942 (counted by TCC_BUBBLE), two of 64 on gfx90a. */
void l2_finish(L2Model *m, u64 *counters, PcCounts *pcs)
{
    empty_caches(m);
    Traffic sum = traffic_of_all(m), *t = &sum;
    double usual = usual_misses(t);
    complete(m, t);
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
    counters[COUNTER_reads_across_xcds] += t->fabric_reads_again;
    counters[COUNTER_mall_hits] += t->mall_hits;
    counters[COUNTER_mall_misses] += t->mall_misses;
    counters[COUNTER_memory_bytes_read] += t->memory_bytes_read;
    counters[COUNTER_memory_bytes_written] += t->memory_bytes_written;
    counters[COUNTER_atomics_on_one_line] += most_atomics(m);
    counters[COUNTER_busiest_channel_requests] += busiest_channel(m);
    for (u32 n = 0; pcs && n < m->pc_count; n++) {
        HitsOf h = hits_of(m, n);
        u64 misses = misses_of(h, usual);
        pcs[n].l2_misses += misses;
        pcs[n].l2_hits += h.hits + h.misses + h.left_out - misses;
    }
}
