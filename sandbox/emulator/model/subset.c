#include "model/subset.h"

#include <stdlib.h>

#include "model/counters.h"
#include "model/pc_counts.h"

enum {
    LEAST_WORKGROUPS = 64,
    MOST_RUN = 96,       /* workgroups, about; but a quarter of the grid at most */
    LEAST_RUN = 16,
    FEW_VERIFIED = 2,    /* of each kind: workgroups besides those that show the distances */
    VERIFIED = 6,        /* the same where a grid is large: then most places within lines have a member */
};

/* ---- where a workgroup lies ---- */

u64 subset_mix(u64 x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static void place_of(const Dispatch *d, u64 number, u32 *at)
{
    at[0] = (u32)(number % d->workgroups[0]);
    at[1] = (u32)(number / d->workgroups[0] % d->workgroups[1]);
    at[2] = (u32)(number / d->workgroups[0] / d->workgroups[1]);
}

static u64 number_of(const Dispatch *d, const u32 *at)
{
    return at[0] + d->workgroups[0] * (at[1] + (u64)d->workgroups[1] * at[2]);
}

static u32 kind_of(const Dispatch *d, const u32 *at)
{
    u32 kind = 0, power = 1;
    for (u32 n = 0; n < 3; n++, power *= 3)
        kind += power * (at[n] == 0 ? 0 : at[n] == d->workgroups[n] - 1 ? 2 : 1);
    return kind;
}

const SubsetKind *subset_kind(const Subset *s, u64 number, u32 *at)
{
    place_of(s->dispatch, number, at);
    return &s->kind[kind_of(s->dispatch, at)];
}

static void box_of(const Dispatch *d, u32 kind, SubsetKind *out)
{
    out->size = 1;
    for (u32 n = 0; n < 3; n++, kind /= 3) {
        u32 all = d->workgroups[n], part = kind % 3;
        out->low[n] = part == 0 ? 0 : part == 1 ? 1 : all - 1;
        out->extent[n] = part == 1 ? (all > 2 ? all - 2 : 0) : part == 0 || all > 1;
        out->size *= out->extent[n];
    }
}

/* ---- which ones run ---- */

static u32 free_axes(const SubsetKind *k) { return (k->extent[0] > 1) + (k->extent[1] > 1) + (k->extent[2] > 1); }

static u32 needed_of(const SubsetKind *k, u32 verified)
{
    u64 needed = 1 + free_axes(k) + verified;
    return needed < k->size ? (u32)needed : (u32)k->size;
}

static bool add_member(Subset *s, u32 kind, const u32 *at)
{
    const SubsetKind *k = &s->kind[kind];
    u64 number = number_of(s->dispatch, at);
    for (u32 n = k->first; n < s->count; n++)
        if (s->member[n].number == number)
            return false;
    SubsetMember *m = &s->member[s->count++];
    *m = (SubsetMember){.number = number, .kind = kind, .weight = 1};
    memcpy(m->at, at, sizeof m->at);
    return true;
}

/* Lines of memory begin at every second, fourth, ... workgroup: all these places get their turn. */
static void spread(const SubsetKind *k, u32 n, u32 *at)
{
    u32 axis = 0, places = 32;
    while (axis < 2 && k->extent[axis] < 4)
        axis++;
    while (places > 1 && k->extent[axis] < 2 * places)
        places /= 2;
    u32 from = at[axis] - k->low[axis], to = from / places * places + n % places;
    at[axis] = k->low[axis] + (to < k->extent[axis] ? to : to - places);
}

/* The anchor, its neighbours, and others spread over the box: one at a random place of each of equal parts. */
static void choose(Subset *s, u32 kind, u32 wanted)
{
    SubsetKind *k = &s->kind[kind];
    u32 at[3];
    k->first = k->anchor = s->count;
    for (u32 n = 0; n < 3; n++)
        at[n] = k->low[n] + (k->extent[n] - 1) / 2;
    add_member(s, kind, at);
    for (u32 n = 0; n < 3; n++)
        if (k->extent[n] > 1) {
            at[n]++;
            add_member(s, kind, at);
            at[n]--;
        }
    u32 rest = wanted > s->count - k->first ? wanted - (s->count - k->first) : 0;
    for (u32 n = 0; n < rest; n++) {
        u64 from = k->size * n / rest, until = k->size * (n + 1) / rest;
        u64 chosen = until > from ? from + subset_mix(kind * 0x9e3779b97f4a7c15ull + n + 1) % (until - from) : from;
        for (u32 a = 0; a < 3; a++, chosen /= k->extent[a - 1])
            at[a] = k->low[a] + (u32)(chosen % k->extent[a]);
        spread(k, n, at);
        add_member(s, kind, at);
    }
    k->count = s->count - k->first;
}

static int ascending(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

static bool choose_all(Subset *s)
{
    u64 quarter = s->total / 4;
    u32 verified = quarter < MOST_RUN ? FEW_VERIFIED : VERIFIED;
    u32 wanted = quarter > MOST_RUN ? MOST_RUN : quarter < LEAST_RUN ? LEAST_RUN : (u32)quarter, needed = 0, largest = 0;
    for (u32 n = 0; n < SUBSET_KINDS; n++) {
        box_of(s->dispatch, n, &s->kind[n]);
        needed += needed_of(&s->kind[n], verified);
        largest = s->kind[n].size > s->kind[largest].size ? n : largest;
    }
    s->member = calloc(wanted + needed + SUBSET_KINDS, sizeof *s->member);
    s->numbers = calloc(wanted + needed + SUBSET_KINDS, sizeof *s->numbers);
    if (!s->member || !s->numbers)
        return false;
    for (u32 n = 0; n < SUBSET_KINDS; n++) {
        u32 more = n == largest && wanted > needed ? wanted - needed : 0;
        if (s->kind[n].size)
            choose(s, n, needed_of(&s->kind[n], verified) + more);
    }
    for (u32 n = 0; n < s->count; n++)
        s->numbers[n] = s->member[n].number;
    qsort(s->numbers, s->count, sizeof *s->numbers, ascending);
    return s->count < s->total;
}

Subset *subset_create(const Dispatch *d)
{
    u64 total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    if (total < LEAST_WORKGROUPS || d->program->count >= NO_INST)
        return NULL;
    Subset *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->dispatch = d;
    s->total = total;
    s->slot_of = calloc(d->program->count + 1, sizeof *s->slot_of);
    if (s->slot_of && choose_all(s))
        return s;
    subset_destroy(s);
    return NULL;
}

void subset_destroy(Subset *s)
{
    if (!s)
        return;
    for (u32 n = 0; n < s->count; n++) {
        free(s->member[n].did);
        free(s->member[n].log.request);
    }
    for (u32 n = 0; n < SUBSET_KINDS; n++)
        free(s->kind[n].step);
    free(s->member);
    free(s->numbers);
    free(s->slot_of);
    free(s->shift);
    free(s->cell);
    free(s);
}

u64 subset_size(const Subset *s) { return s->count; }

/* The others in their order: number `rest` of them has `rest` of them before it, and some of the sample. */
u64 subset_workgroup(const Subset *s, u64 turn)
{
    if (turn < s->count)
        return s->numbers[turn];
    u64 rest = turn - s->count;
    u32 low = 0, high = s->count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (s->numbers[middle] - middle <= rest)
            low = middle + 1;
        else
            high = middle;
    }
    return rest + low;
}

/* ---- what one did ---- */

typedef struct { Worker *worker; SubsetMember *member; u32 room; } Taking;

static void take_instruction(void *context, u32 n, PcExecutions ran)
{
    Taking *t = context;
    SubsetMember *m = t->member;
    if (m->did_count == t->room) {
        u32 room = t->room ? 2 * t->room : 256;
        Did *more = realloc(m->did, room * sizeof *more);
        if (!more)
            return;
        m->did = more;
        t->room = room;
    }
    Reach *reach = &l1_view_places(t->worker->view)[n];
    m->did[m->did_count++] = (Did){.inst = n, .ran = ran, .reach = *reach};
    *reach = (Reach){0};
    t->worker->pc_counts[n] = (PcExecutions){0};
    if (t->worker->pcs) {
        m->did[m->did_count - 1].did = t->worker->pcs[n];
        t->worker->pcs[n] = (PcCounts){0};
    }
}

SubsetMember *subset_member(const Subset *s, u64 number)
{
    u32 at[3];
    const SubsetKind *k = subset_kind(s, number, at);
    for (u32 n = k->first; n < k->first + k->count; n++)
        if (s->member[n].number == number)
            return &s->member[n];
    return NULL;
}

void subset_group_end(Subset *s, u64 number, u32 waves, L1Group *t, Worker *k)
{
    if (!s) {
        l1_group_end(k->view, t, number, k);
        return;
    }
    Taking taking = {.worker = k, .member = subset_member(s, number)};
    SubsetMember *m = taking.member;
    l1_group_take(k->view, t, k, m->counters, &m->log);
    counters_add_worker(k, m->counters);
    m->counters[COUNTER_SQ_WAVES] = waves;
    k->events = (Events){0};
    k->lds = (LdsCycles){0};
    pc_counts_sum(k->pc_counts, s->dispatch->program->count + 1);
    pc_counts_visit(k->pc_counts, s->dispatch->program->count, take_instruction, &taking);
}

/* ---- all of them ---- */

u64 subset_estimate(const Subset *s)
{
    double all = 0;
    for (u32 n = 0; n < s->count; n++) {
        const SubsetKind *k = &s->kind[s->member[n].kind];
        u64 own = 0;
        for (u32 i = 0; i < s->member[n].did_count; i++)
            own += s->member[n].did[i].ran.executions;
        all += (double)own * (double)k->size / k->count;
    }
    return all < 1e18 ? (u64)all : (u64)1e18;
}

void subset_release(Subset *s, L2Model *m)
{
    for (u32 n = 0; n < s->count; n++) {
        SubsetMember *each = subset_member(s, s->numbers[n]);
        l2_group(m, each->number, &each->log);
    }
}
