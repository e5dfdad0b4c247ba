#include "model/alike.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/counters.h"
#include "model/pc_counts.h"
#include "model/scale.h"

static const double MOST_ERROR = 0.03; /* of the counters in `decisive` */
static const double MOST_UNFORESEEN = 0.1; /* of the requests to the L2; most of them hit or miss in the L1 by chance */

/* What follows from the requests of all workgroups to the L2. */
static const int behind_l1[] = {
    COUNTER_SQC_DCACHE_HITS, COUNTER_SQC_DCACHE_MISSES, COUNTER_TCC_REQ_sum, COUNTER_TCC_READ_sum, COUNTER_TCC_WRITE_sum,
    COUNTER_TCC_ATOMIC_sum, COUNTER_TCC_HIT_sum, COUNTER_TCC_MISS_sum, COUNTER_TCC_BUBBLE_sum, COUNTER_TCC_EA0_RDREQ_sum,
    COUNTER_TCC_EA0_WRREQ_sum, COUNTER_TCC_EA0_WRREQ_64B_sum, COUNTER_gl1_hits, COUNTER_gl1_misses, COUNTER_mall_hits,
    COUNTER_mall_misses, COUNTER_memory_bytes_read, COUNTER_memory_bytes_written, COUNTER_atomics_on_one_line,
    COUNTER_busiest_channel_requests, COUNTER_reads_across_xcds,
};

/* ---- alike ---- */

static const Did *did_of(const SubsetMember *m, u32 inst)
{
    u32 low = 0, high = m->did_count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (m->did[middle].inst < inst)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->did_count && m->did[low].inst == inst ? &m->did[low] : NULL;
}

static u64 number_of(const Subset *s, const u32 *at)
{
    return at[0] + s->dispatch->workgroups[0] * (at[1] + (u64)s->dispatch->workgroups[1] * at[2]);
}

static u64 moved(const Subset *s, const SubsetKind *k, u32 slot, const u32 *from, const u32 *to)
{
    u64 slots = s->slots + 1;
    i64 by = 0;
    if (s->shift)
        return (u64)(s->shift[number_of(s, to) * slots + slot] - s->shift[number_of(s, from) * slots + slot]);
    for (u32 n = 0; n < 3; n++)
        by += k->step[slot][n] * ((i64)to[n] - (i64)from[n]);
    return (u64)by;
}

static void number_slots(Subset *s)
{
    for (u32 n = 0; n < s->count; n++)
        for (u32 i = 0; i < s->member[n].did_count; i++) {
            const Did *did = &s->member[n].did[i];
            if (did->reach.lanes && !s->slot_of[did->inst])
                s->slot_of[did->inst] = ++s->slots;
        }
}

static void note_period(SubsetKind *k, u32 axis, i64 step)
{
    while (step * (i64)k->period[axis] % LINE_BYTES)
        k->period[axis] *= 2;
}

/* The distances of all loads and stores between the anchor and its neighbours. */
static bool measure_steps(const Subset *s, SubsetKind *k)
{
    const SubsetMember *anchor = &s->member[k->anchor];
    k->step = calloc(s->slots + 1, sizeof *k->step);
    if (!k->step)
        return false;
    u32 neighbour = k->anchor;
    for (u32 axis = 0; axis < 3; axis++) {
        k->period[axis] = 1;
        if (k->extent[axis] < 2)
            continue;
        const SubsetMember *next = &s->member[++neighbour];
        for (u32 i = 0; i < anchor->did_count; i++) {
            const Did *here = &anchor->did[i], *there = did_of(next, here->inst);
            if (!here->reach.lanes || !there)
                continue;
            i64 step = (i64)(there->reach.first - here->reach.first);
            k->step[s->slot_of[here->inst]][axis] = step;
            note_period(k, axis, step);
        }
    }
    return true;
}

/* Each load and store of `m` is that of the anchor, moved. */
static bool follows(const Subset *s, const SubsetKind *k, const SubsetMember *m)
{
    const SubsetMember *anchor = &s->member[k->anchor];
    u32 own = 0;
    for (u32 i = 0; i < m->did_count; i++)
        own += m->did[i].reach.lanes != 0;
    for (u32 i = 0; i < anchor->did_count; i++) {
        const Did *here = &anchor->did[i];
        if (!here->reach.lanes)
            continue;
        const Did *there = did_of(m, here->inst);
        u64 by = moved(s, k, s->slot_of[here->inst], anchor->at, m->at);
        if (!there || there->reach.lanes != here->reach.lanes || there->ran.executions != here->ran.executions ||
            there->reach.first - here->reach.first != by || there->reach.sum - here->reach.sum != by * here->reach.lanes)
            return false;
        own--;
    }
    return own == 0;
}

/* Its place within lines is that of so many of its kind. */
static u64 cell_size(const Subset *s, const SubsetKind *k, const SubsetMember *m)
{
    u64 size = s->cell ? 0 : 1;
    for (u64 g = 0; s->cell && g < s->total; g++) {
        u32 at[3];
        size += s->cell[g] == s->cell[m->number] && subset_kind(s, g, at) == k;
    }
    if (s->cell)
        return size;
    for (u32 n = 0; n < 3; n++) {
        u32 place = (m->at[n] - k->low[n]) % k->period[n];
        size *= k->extent[n] / k->period[n] + (place < k->extent[n] % k->period[n]);
    }
    return size;
}

static bool same_cell(const Subset *s, const SubsetKind *k, const SubsetMember *a, const SubsetMember *b)
{
    if (s->cell)
        return s->cell[a->number] == s->cell[b->number];
    for (u32 n = 0; n < 3; n++)
        if ((a->at[n] - b->at[n]) % k->period[n])
            return false;
    return true;
}

/* Of the members of its kind, those at the same place within lines. */
static u32 cell_count(const Subset *s, const SubsetKind *k, const SubsetMember *m)
{
    u32 count = 0;
    for (u32 n = k->first; n < k->first + k->count; n++)
        count += same_cell(s, k, m, &s->member[n]);
    return count;
}

/* ---- what the others ask of the L2 ---- */

/* One that ran and is not `number`, at the same place within its lines if there is one. */
static const SubsetMember *nearest(const Subset *s, const SubsetKind *k, const SubsetMember *at)
{
    u32 start = (u32)(subset_mix(at->number + 1) % k->count);
    const SubsetMember *any = &s->member[k->first + start];
    for (u32 n = 0; n < k->count; n++) {
        const SubsetMember *m = &s->member[k->first + (start + n) % k->count];
        if (m->number == at->number)
            continue;
        any = any->number == at->number ? m : any;
        if (same_cell(s, k, m, at))
            return m;
    }
    return any;
}

/* By how many lines the requests of `m` lie further, by slot; NULL: no memory. */
static i64 *lines_moved(const Subset *s, const SubsetKind *k, const SubsetMember *m, const u32 *at)
{
    i64 *by = calloc(s->slots + 1, sizeof *by);
    for (u32 i = 0; by && i < m->did_count; i++) {
        const Did *did = &m->did[i];
        u64 from = did->reach.first, to = from + moved(s, k, s->slot_of[did->inst], m->at, at);
        if (did->reach.lanes)
            by[s->slot_of[did->inst]] = (i64)(to / LINE_BYTES - from / LINE_BYTES);
    }
    return by;
}

static Likely likely_of(void *context, u64 number)
{
    const Subset *s = context;
    SubsetMember asked = {.number = number};
    const SubsetKind *k = subset_kind(s, number, asked.at);
    const SubsetMember *own = subset_member(s, number), *m = own ? own : nearest(s, k, &asked);
    return (Likely){&m->log, own ? NULL : lines_moved(s, k, m, asked.at)};
}

/* ---- how well they are known: what a member asked, and what the others say that it asks ---- */

static int by_line(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

static u64 *sorted_lines(const Subset *s, const Log *log, const i64 *moved_by)
{
    u64 *line = malloc((log->count + 1) * sizeof *line);
    for (u64 n = 0; line && n < log->count; n++)
        line[n] = log->request[n].line + (moved_by ? (u64)moved_by[s->slot_of[log->request[n].inst]] : 0);
    if (line)
        qsort(line, log->count, sizeof *line, by_line);
    return line;
}

static u64 unmatched(const u64 *a, u64 a_count, const u64 *b, u64 b_count)
{
    u64 common = 0, n = 0, k = 0;
    while (n < a_count && k < b_count)
        if (a[n] == b[k]) {
            common++;
            n++;
            k++;
        } else if (a[n] < b[k]) {
            n++;
        } else {
            k++;
        }
    return a_count + b_count - 2 * common;
}

/* The share of its requests that is not foreseen. */
static double error_of_member(const Subset *s, const SubsetKind *k, const SubsetMember *m)
{
    const SubsetMember *other = nearest(s, k, m);
    i64 *by = lines_moved(s, k, other, m->at);
    u64 *own = sorted_lines(s, &m->log, NULL), *told = by ? sorted_lines(s, &other->log, by) : NULL;
    u64 both = m->log.count + other->log.count, off = own && told ? unmatched(own, m->log.count, told, other->log.count) : both;
    free(by);
    free(own);
    free(told);
    return both ? (double)off / (double)both : 0;
}

static double error_of_requests(const Subset *s)
{
    enum { LOOKS = 6 };
    double error = 0;
    for (u32 n = 0; n < SUBSET_KINDS; n++) {
        const SubsetKind *k = &s->kind[n];
        u32 looks = k->count < 2 || k->count >= k->size ? 0 : k->count < LOOKS ? k->count : LOOKS;
        for (u32 i = 0; i < looks; i++)
            error += error_of_member(s, k, &s->member[k->first + k->count - 1 - i]) / looks * (double)k->size / (double)s->total;
    }
    return error;
}

/* ---- errors ---- */

/* All counters of each member, those of instructions as well; `all` has a row for each. */
static bool count_members(const Subset *s, u64 (*all)[COUNTER_COUNT])
{
    const Program *p = s->dispatch->program;
    PcExecutions *own = pc_counts_create(p->count + 1);
    for (u32 n = 0; own && n < s->count; n++) {
        const SubsetMember *m = &s->member[n];
        memcpy(all[n], m->counters, sizeof all[n]);
        for (u32 i = 0; i < m->did_count; i++)
            own[m->did[i].inst] = m->did[i].ran;
        counters_gather(p, own, m->counters[COUNTER_SQ_WAVES], all[n]);
        for (u32 i = 0; i < m->did_count; i++)
            own[m->did[i].inst] = (PcExecutions){0};
    }
    bool done = own != NULL;
    pc_counts_destroy(own, p->count + 1);
    return done;
}

/* Each speaks for those at the same place within lines; for places without a member all speak alike. */
static void weigh(Subset *s, const SubsetKind *k)
{
    double covered = 0;
    for (u32 n = k->first; n < k->first + k->count; n++) {
        SubsetMember *m = &s->member[n];
        m->weight = (double)cell_size(s, k, m) / cell_count(s, k, m);
        covered += m->weight;
    }
    for (u32 n = k->first; n < k->first + k->count; n++)
        s->member[n].weight *= (double)k->size / covered;
}

static double mean_of_cell(const Subset *s, const SubsetKind *k, const SubsetMember *m, u64 (*all)[COUNTER_COUNT], int c)
{
    double sum = 0;
    u32 count = 0;
    for (u32 n = k->first; n < k->first + k->count; n++)
        if (same_cell(s, k, m, &s->member[n])) {
            sum += (double)(i64)all[n][c];
            count++;
        }
    return sum / count;
}

/* The variance of a kind's estimated sum: members differ from others at the same place within lines. */
static double variance_of(const Subset *s, const SubsetKind *k, u64 (*all)[COUNTER_COUNT], int c)
{
    double squares = 0, weights = 0, cells = 0;
    if (k->count >= k->size)
        return 0;
    for (u32 n = k->first; n < k->first + k->count; n++) {
        const SubsetMember *m = &s->member[n];
        double off = (double)(i64)all[n][c] - mean_of_cell(s, k, m, all, c);
        squares += off * off;
        weights += m->weight * m->weight;
        cells += 1.0 / cell_count(s, k, m);
    }
    double freedom = k->count - cells;
    return freedom > 0.5 ? weights * (1 - (double)k->count / (double)k->size) * squares / freedom : 0;
}

static bool differ_in(const SubsetKind *k, u64 (*all)[COUNTER_COUNT], int c)
{
    for (u32 n = k->first; n < k->first + k->count; n++)
        if (all[n][c] != all[k->first][c])
            return true;
    return false;
}

/* The largest of a sample is not the largest of all: how far the members differ. */
static double spread_of_largest(const Subset *s, int c)
{
    u64 least = ~0ull, most = 0;
    for (u32 n = 0; n < SUBSET_KINDS; n++)
        for (u32 i = s->kind[n].first; s->kind[n].count < s->kind[n].size && i < s->kind[n].first + s->kind[n].count; i++) {
            u64 value = s->member[i].counters[c];
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
    return most ? (double)(most - least) / (double)most : 0;
}

void alike_errors(const Subset *s, double *errors)
{
    u64(*all)[COUNTER_COUNT] = calloc(s->count, sizeof *all);
    bool counted = all && count_members(s, all);
    for (int c = 0; c < COUNTER_COUNT; c++) {
        double variance = 0, sum = 0;
        for (u32 n = 0; counted && n < s->count; n++)
            sum += s->member[n].weight * (double)(i64)all[n][c];
        for (u32 n = 0; counted && n < SUBSET_KINDS; n++)
            if (s->kind[n].count && differ_in(&s->kind[n], all, c))
                variance += variance_of(s, &s->kind[n], all, c);
        errors[c] = scale_is_largest(c) ? spread_of_largest(s, c) : sum > 0 ? 1.96 * sqrt(variance) / sum : 0;
    }
    free(all);
    for (size_t n = 0; n < sizeof behind_l1 / sizeof *behind_l1; n++)
        errors[behind_l1[n]] = fmax(s->requests_error, errors[COUNTER_TCP_TCC_READ_REQ_sum]);
}

static bool differ(const Subset *s, char *why, size_t why_bytes)
{
    static const int decisive[] = {
        COUNTER_SQ_INSTS, COUNTER_SQ_INSTS_VALU, COUNTER_SQ_INSTS_LDS, COUNTER_SQ_INSTS_VMEM, COUNTER_SQ_INSTS_MFMA,
        COUNTER_bytes_loaded, COUNTER_bytes_stored, COUNTER_TCP_TCC_READ_REQ_sum, COUNTER_SQ_LDS_IDX_ACTIVE,
    };
    double errors[COUNTER_COUNT];
    alike_errors(s, errors);
    for (size_t n = 0; n < sizeof decisive / sizeof *decisive; n++)
        if (errors[decisive[n]] > MOST_ERROR) {
            snprintf(why, why_bytes, "its workgroups differ: %s would be known to %.0f %% only", counter_name(decisive[n]),
                     100 * errors[decisive[n]]);
            return true;
        }
    if (s->requests_error > MOST_UNFORESEEN)
        snprintf(why, why_bytes, "its workgroups differ: %.0f %% of what they ask of the L2 is not foreseen", 100 * s->requests_error);
    return s->requests_error > MOST_UNFORESEEN;
}

static bool all_follow(const Subset *s, char *why, size_t why_bytes)
{
    for (u32 n = 0; n < SUBSET_KINDS; n++) {
        const SubsetKind *k = &s->kind[n];
        for (u32 m = k->first; k->count < k->size && m < k->first + k->count; m++)
            if (!follows(s, k, &s->member[m])) {
                snprintf(why, why_bytes, "the loads and stores of workgroup [%u, %u, %u] do not follow from those of others",
                         s->member[m].at[0], s->member[m].at[1], s->member[m].at[2]);
                return false;
            }
    }
    return true;
}

static bool counts_agree(Subset *s, char *why, size_t why_bytes)
{
    for (u32 n = 0; n < SUBSET_KINDS; n++)
        if (s->kind[n].count)
            weigh(s, &s->kind[n]);
    s->requests_error = error_of_requests(s);
    bool alike = !differ(s, why, why_bytes);
    for (u32 n = 0; !alike && n < s->count; n++)
        s->member[n].weight = 1;
    return alike;
}

bool alike_test(Subset *s, char *why, size_t why_bytes)
{
    number_slots(s);
    for (u32 n = 0; n < SUBSET_KINDS; n++)
        if (s->kind[n].count && !measure_steps(s, &s->kind[n]))
            return false;
    return all_follow(s, why, why_bytes) && counts_agree(s, why, why_bytes);
}

bool alike_test_shifted(Subset *s, char *why, size_t why_bytes)
{
    return all_follow(s, why, why_bytes) && counts_agree(s, why, why_bytes);
}

void alike_replay(Subset *s, L2Model *m)
{
    l2_replay(m, s->slot_of, likely_of, s);
}
