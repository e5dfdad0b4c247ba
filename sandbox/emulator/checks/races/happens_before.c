/*
 * Happens-before by the memory model: barriers, releases, and atomics or volatile accesses that signal.
 *
 * Exact within a workgroup. Between workgroups a wave is known by its number modulo `buckets`, and one that loads a
 * signal counts as acquiring what was definitely released, unless its code acquires within its workgroup only: both can
 * only hide a race. A workgroup learns from another what that one released (on gfx942: wrote back) before its
 * signal. Where a release is a mere wait that may be there for another reason (annotations.c), only waves with
 * an acquire see it.
 */
#include "checks/races/happens_before.h"

#include <stdlib.h>

/* What waves learn at one place. */
typedef struct {
    u64 place;
    u64 group;                    /* that published last; its waves' epochs are in `sibling` */
    u32 sibling[MAX_GROUP_WAVES];
    u32 *passed[CERTAINTIES];     /* what these waves knew of other workgroups, by bucket; NULL: nothing */
    u32 *foreign[CERTAINTIES];    /* by bucket, released epochs; NULL: none */
    bool used;
} Signal;

/* Beyond `limit` places all others share one, which can order accesses that are not ordered: that only hides races. */
struct SyncTable { Signal *slot; Signal rest; u32 slots, count, limit; };

SyncTable *happens_before_table_create(u32 limit)
{
    SyncTable *t = calloc(1, sizeof *t);
    Signal *slot = calloc(2 * limit + 2, sizeof *slot);
    if (!t || !slot) {
        free(t);
        free(slot);
        return NULL;
    }
    *t = (SyncTable){.slot = slot, .slots = 2 * limit + 2, .limit = limit};
    return t;
}

/* What waves of one workgroup published to each other. */
static void forget_siblings(Signal *s)
{
    memset(s->sibling, 0, sizeof s->sibling);
    for (Certainty c = DEFINITE; c < CERTAINTIES; c++) {
        free(s->passed[c]);
        s->passed[c] = NULL;
    }
}

static void forget_signal(Signal *s)
{
    forget_siblings(s);
    for (Certainty c = DEFINITE; c < CERTAINTIES; c++)
        free(s->foreign[c]);
    *s = (Signal){0};
}

void happens_before_table_clear(SyncTable *t)
{
    for (u32 k = 0; t->count && k < t->slots; k++)
        forget_signal(&t->slot[k]);
    forget_signal(&t->rest);
    t->count = 0;
}

void happens_before_table_destroy(SyncTable *t)
{
    if (!t)
        return;
    happens_before_table_clear(t);
    free(t->slot);
    free(t);
}

static Signal *signal_at(SyncTable *t, u64 place, bool make)
{
    u32 at = (u32)((place * 0x9e3779b97f4a7c15ull) >> 40) % t->slots;
    while (t->slot[at].used && t->slot[at].place != place)
        at = (at + 1) % t->slots;
    if (t->slot[at].used)
        return &t->slot[at];
    if (t->count >= t->limit)
        return &t->rest;
    if (!make)
        return NULL;
    t->count++;
    t->slot[at] = (Signal){.place = place, .used = true, .group = ~0ull};
    return &t->slot[at];
}

/* ---- what a wave knows ---- */

u32 happens_before_wave(const Races *r, const Wave *w) { return (u32)w->shadow->number * r->waves_per_group + w->index; }

static void raise(u32 *x, u32 to) { *x = *x < to ? to : *x; }

static void new_epoch(Races *r, HappensBefore *o) { o->stamp = ++r->clock; }

static void join(u32 *to, const u32 *from, u32 count)
{
    for (u32 k = 0; k < count; k++)
        to[k] = to[k] < from[k] ? from[k] : to[k];
}

static u32 *foreign_of(const Races *r, u32 **foreign)
{
    if (!*foreign)
        *foreign = calloc(r->buckets, sizeof **foreign);
    return *foreign;
}

void happens_before_start(Races *r, GroupShadow *g, u32 waves)
{
    g->began = r->clock;
    happens_before_table_clear(g->lds_sync);
    for (u32 k = 0; k < waves; k++) {
        happens_before_destroy(&g->wave[k].happens_before);
        new_epoch(r, &g->wave[k].happens_before);
    }
}

void happens_before_destroy(HappensBefore *o)
{
    for (Certainty c = DEFINITE; c < CERTAINTIES; c++)
        free(o->foreign[c]);
    *o = (HappensBefore){0};
}

bool happens_before_knows(const Races *r, const Wave *w, const Entry *e, u32 began)
{
    u32 first = (u32)w->shadow->number * r->waves_per_group, index = e->wave - first;
    const HappensBefore *o = &shadow_of(w)->happens_before;
    if (e->time <= began || index == w->index)
        return true;
    if (index < r->waves_per_group)
        return o->sibling[index] >= e->time;
    return o->foreign[DEFINITE] && o->foreign[DEFINITE][e->wave % r->buckets] >= e->time;
}

static void join_foreign(const Races *r, u32 **to, const u32 *from)
{
    if (from && foreign_of(r, to))
        join(*to, from, r->buckets);
}

static void share_foreign(const Races *r, GroupShadow *g, Certainty c)
{
    u32 *sum = NULL;
    for (u32 k = 0; k < g->wave_count; k++)
        join_foreign(r, &sum, g->wave[k].happens_before.foreign[c]);
    for (u32 k = 0; k < g->wave_count; k++)
        join_foreign(r, &g->wave[k].happens_before.foreign[c], sum);
    free(sum);
}

void happens_before_barrier(Races *r, GroupShadow *g)
{
    for (u32 k = 0; k < g->wave_count; k++)
        happens_before_release_idle(r, &g->wave[k].happens_before);
    for (u32 k = 0; k < g->wave_count; k++)
        for (u32 other = 0; other < g->wave_count; other++)
            raise(&g->wave[k].happens_before.sibling[other], g->wave[other].happens_before.stamp);
    for (u32 k = 0; k < g->wave_count; k++)
        for (u32 other = 0; other < g->wave_count; other++)
            for (Landing way = LANDS_STORED; way < LANDINGS; way++)
                g->wave[k].happens_before.unlanded[way][other] = g->wave[other].happens_before.landing[way];
    bool learnt = false;
    for (u32 k = 0; k < g->wave_count; k++)
        learnt |= g->wave[k].happens_before.learnt;
    for (Certainty c = DEFINITE; learnt && c < CERTAINTIES; c++)
        share_foreign(r, g, c);
    for (u32 k = 0; k < g->wave_count; k++) {
        g->wave[k].happens_before.learnt = false;
        new_epoch(r, &g->wave[k].happens_before);
    }
}

void happens_before_new_epoch(Races *r, Wave *w) { new_epoch(r, &shadow_of(w)->happens_before); }

void happens_before_release_idle(Races *r, HappensBefore *o)
{
    if (!r->waits_release || o->stores_pending)
        return;
    o->released[POSSIBLE].own = o->stamp;
    new_epoch(r, o);
}

void happens_before_release(Races *r, Wave *w, Certainty c)
{
    HappensBefore *o = &shadow_of(w)->happens_before;
    o->stores_pending = false;
    o->released[c].own = o->stamp;
    memcpy(o->released[c].sibling, o->sibling, sizeof o->sibling);
    new_epoch(r, o);
}

void happens_before_acquire(Races *r, Wave *w)
{
    HappensBefore *o = &shadow_of(w)->happens_before;
    const u32 *possible = o->foreign[POSSIBLE];
    join_foreign(r, &o->foreign[DEFINITE], possible);
    for (u32 k = 0; possible && k < w->shadow->wave_count; k++)
        raise(&o->sibling[k], possible[(happens_before_wave(r, w) - w->index + k) % r->buckets]);
    o->learnt |= possible != NULL;
}

/* What other workgroups acquire of wave `k`: what `w` knew of it at its release, or what that wave released itself. */
static u32 released_of(const Wave *w, u32 k, Certainty c)
{
    const HappensBefore *o = &shadow_of(w)->happens_before;
    u32 own = w->shadow->wave[k].happens_before.released[c].own, known = o->sibling[k];
    u32 both = own < known ? own : known;
    if (k == w->index)
        return o->released[c].own;
    return both > o->released[c].sibling[k] ? both : o->released[c].sibling[k];
}

static void publish_released(Races *r, Wave *w, Signal *s, Certainty c)
{
    const HappensBefore *o = &shadow_of(w)->happens_before;
    bool any = o->released[c].own || o->foreign[c];
    for (u32 k = 0; k < w->shadow->wave_count; k++)
        any |= released_of(w, k, c) != 0;
    if (!any || !foreign_of(r, &s->foreign[c]))
        return;
    if (o->foreign[c])
        join(s->foreign[c], o->foreign[c], r->buckets);
    for (u32 k = 0; k < w->shadow->wave_count; k++)
        raise(&s->foreign[c][(happens_before_wave(r, w) - w->index + k) % r->buckets], released_of(w, k, c));
}

void happens_before_publish(Races *r, Wave *w, SyncTable *t, u64 place, bool to_all)
{
    HappensBefore *o = &shadow_of(w)->happens_before;
    Signal *s = signal_at(t, place, true);
    if (s->group != w->shadow->number)
        forget_siblings(s);
    s->group = w->shadow->number;
    join(s->sibling, o->sibling, MAX_GROUP_WAVES);
    raise(&s->sibling[w->index], o->stamp);
    for (Certainty c = DEFINITE; c < CERTAINTIES; c++)
        join_foreign(r, &s->passed[c], o->foreign[c]);
    for (Certainty c = DEFINITE; to_all && c < CERTAINTIES; c++)
        publish_released(r, w, s, c);
}

void happens_before_learn(Races *r, Wave *w, SyncTable *t, u64 place, bool near)
{
    HappensBefore *o = &shadow_of(w)->happens_before;
    const Signal *s = signal_at(t, place, false);
    if (!s)
        return;
    bool own = s->group == w->shadow->number;
    if (own) {
        join(o->sibling, s->sibling, MAX_GROUP_WAVES);
        memset(o->unlanded, 0, sizeof o->unlanded);
    }
    for (Certainty c = DEFINITE; c < CERTAINTIES; c++) {
        join_foreign(r, &o->foreign[near ? POSSIBLE : c], s->foreign[c]);
        join_foreign(r, &o->foreign[c], own ? s->passed[c] : NULL);
        o->learnt |= s->foreign[c] != NULL || (own && s->passed[c]);
    }
    for (u32 k = 0; s->foreign[DEFINITE] && k < w->shadow->wave_count; k++)
        raise(&o->sibling[k], s->foreign[DEFINITE][(happens_before_wave(r, w) - w->index + k) % r->buckets]);
}

void happens_before_learn_from(Races *r, Wave *w, const Entry *e, bool near)
{
    HappensBefore *o = &shadow_of(w)->happens_before;
    Certainty c = near ? POSSIBLE : DEFINITE;
    u32 index = e->wave - (happens_before_wave(r, w) - w->index);
    if (index < r->waves_per_group) {
        o->unlanded[LANDS_STORED][index] = o->unlanded[LANDS_MOVED][index] = 0;
        join(o->sibling, w->shadow->wave[index].happens_before.sibling, MAX_GROUP_WAVES);
        raise(&o->sibling[index], e->time);
    } else if (foreign_of(r, &o->foreign[c])) {
        raise(&o->foreign[c][e->wave % r->buckets], e->time);
        o->learnt = true;
    }
}
