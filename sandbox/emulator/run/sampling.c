#include "run/sampling.h"

#include <stdio.h>

#include "checks/races/annotations.h"
#include "checks/races/coherence.h"
#include "model/alike.h"
#include "model/scale.h"
#include "run/peek.h"

/* A workgroup may learn what another one did: by an atomic whose result it reads, an atomic or volatile load, or a loop
 * that waits. */
static bool listens(const Program *p)
{
    const Annotation *annotations = annotations_of(p);
    for (u32 k = 0; annotations && k < p->count; k++) {
        u32 sync = annotations[k].sync;
        bool loads = sync & SYNC_ACCESS && p->code[k].row->detail[2] == ACCESS_LOAD;
        if (p->code[k].row->family != FAMILY_LDS && (loads || sync & (SYNC_POLL | SYNC_RETURNS)))
            return true;
    }
    return !annotations;
}

/* NULL: it may be sampled. */
static const char *why_not(const Dispatch *d)
{
    if (d->cooperative)
        return "it is a cooperative launch: its workgroups wait for each other";
    if (d->schedule_seed || d->check_memory || d->check_races)
        return "its workgroups are checked";
    return listens(d->program) ? "its workgroups may learn from each other, by atomics or flags" : NULL;
}

Sampling sampling_begin(Queue *q)
{
    const Dispatch *d = q->dispatch;
    Sampling s = {.wanted = d->sample_above && q->model};
    const char *why = s.wanted ? why_not(d) : NULL;
    if (why)
        snprintf(s.refused, sizeof s.refused, "%s", why);
    if (!s.wanted || why)
        return s;
    q->subset = subset_create(d);
    if (!q->subset) {
        snprintf(s.refused, sizeof s.refused, "it has few workgroups");
        return s;
    }
    q->sampling = true;
    q->total = subset_size(q->subset);
    return s;
}

/* The workgroups behind the sample follow; until here the queue was as long as the sample. */
static void run_the_rest(Queue *q, WorkerThread *workers, u32 count)
{
    const Dispatch *d = q->dispatch;
    subset_release(q->subset, q->model);
    q->next = subset_size(q->subset);
    q->total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    for (u32 n = 0; n < count; n++)
        worker_resume(&workers[n]);
}

/* The grid does not say how workgroups differ: what each does first may. The sentence stays that of the grid. */
static bool alike_by_peeking(const Sampling *s, Queue *q, const WorkerThread *workers)
{
    char why[sizeof s->refused];
    return peek_shifts(q, workers->worker.memory) && alike_test_shifted(q->subset, why, sizeof why);
}

bool sampling_goes_on(Sampling *s, Queue *q, WorkerThread *workers, u32 count)
{
    bool still = false;
    for (u32 n = 0; n < count; n++)
        still |= workers[n].stands_still;
    if (!q->sampling || worker_queue_stopped(q) || still)
        return false;
    q->sampling = false;
    bool large = subset_estimate(q->subset) > q->dispatch->sample_above;
    if (large && (alike_test(q->subset, s->refused, sizeof s->refused) || alike_by_peeking(s, q, workers))) {
        alike_replay(q->subset, q->model);
        s->ran = subset_size(q->subset);
        s->refused[0] = 0;
        return false;
    }
    run_the_rest(q, workers, count);
    return true;
}

u64 sampling_gather(const Sampling *s, const Queue *q, PcExecutions *sum, Outcome *out)
{
    out->sampled = s->ran;
    if (q->steps > q->dispatch->sample_above && s->wanted)
        snprintf(out->not_sampled, sizeof out->not_sampled, "%s", s->refused);
    if (!q->subset)
        return q->waves;
    u64 waves = scale_gather(q->subset, sum, out->counters);
    if (s->ran)
        alike_errors(q->subset, out->sample_error);
    return s->ran ? waves : q->waves;
}
