#include "model/scale.h"

#include <math.h>
#include <stdlib.h>

bool scale_is_largest(int counter)
{
    return counter == COUNTER_longest_wave_insts || counter == COUNTER_longest_wave_accesses;
}

static u64 whole(long double x) { return (u64)llroundl(x); }

static u64 gather_counter(const Subset *s, int c)
{
    long double sum = 0;
    u64 most = 0;
    for (u32 n = 0; n < s->count; n++) {
        u64 value = s->member[n].counters[c];
        most = value > most ? value : most;
        sum += (long double)s->member[n].weight * (i64)value;
    }
    return scale_is_largest(c) ? most : whole(sum);
}

u64 scale_gather(const Subset *s, PcExecutions *sum, u64 *counters)
{
    u32 count = s->dispatch->program->count;
    for (int c = 0; c < COUNTER_COUNT; c++) {
        u64 own = gather_counter(s, c);
        if (!scale_is_largest(c))
            counters[c] += c == COUNTER_SQ_WAVES ? 0 : own;
        else
            counters[c] = own > counters[c] ? own : counters[c];
    }
    long double(*own)[2] = calloc(count + 1, sizeof *own);
    for (u32 n = 0; own && n < s->count; n++)
        for (u32 i = 0; i < s->member[n].did_count; i++) {
            const Did *did = &s->member[n].did[i];
            own[did->inst][0] += (long double)s->member[n].weight * did->ran.executions;
            own[did->inst][1] += (long double)s->member[n].weight * did->ran.lanes;
        }
    for (u32 i = 0; own && i < count; i++) {
        sum[i].executions += own[i][0] > 0 ? whole(own[i][0]) : 0;
        sum[i].lanes += own[i][1] > 0 ? whole(own[i][1]) : 0;
    }
    free(own);
    return gather_counter(s, COUNTER_SQ_WAVES);
}

enum { COLUMNS = 6 };

static void columns_of(PcCounts *p, u64 **out)
{
    u64 *const columns[COLUMNS] = {&p->divergent, &p->lines, &p->l1_hits, &p->lds_cycles, &p->lds_conflicts, &p->lines_stored};
    for (u32 n = 0; n < COLUMNS; n++)
        out[n] = columns[n];
}

void scale_gather_pcs(const Subset *s, PcCounts *pcs)
{
    u32 count = s->dispatch->program->count;
    long double(*own)[COLUMNS] = calloc(count + 1, sizeof *own);
    u64 *column[COLUMNS];
    for (u32 n = 0; own && n < s->count; n++)
        for (u32 i = 0; i < s->member[n].did_count; i++) {
            columns_of(&s->member[n].did[i].did, column);
            for (u32 k = 0; k < COLUMNS; k++)
                own[s->member[n].did[i].inst][k] += (long double)s->member[n].weight * *column[k];
        }
    for (u32 i = 0; own && i < count; i++) {
        columns_of(&pcs[i], column);
        for (u32 k = 0; k < COLUMNS; k++)
            *column[k] += whole(own[i][k]);
    }
    free(own);
}
