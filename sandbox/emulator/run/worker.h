/* Workers and the workgroups that they take from a dispatch. */
#ifndef AMDKERNEL_CREW_H
#define AMDKERNEL_CREW_H

#include "isa/gws.h"
#include "model/l1.h"
#include "model/residency.h"
#include "model/subset.h"
#include "run/schedule.h"
#include "run/standstill.h"
#include "run/wave.h"
#include "timing/record.h"

typedef struct {
    const Dispatch *dispatch;
    u64 next, total;     /* workgroups handed out, and in all */
    u64 steps, waves;
    u64 stop_at;         /* the first workgroup that must not continue: ~0 until one faults */
    Fit fit;             /* what the GPU holds at once */
    u64 places;          /* of these, taken */
    u32 workers;
    double pause_at;     /* when the workers must return even if they have not ended; 0: never */
    double end_at;       /* when the process will be ended; 0: not known */
    L2Model *model;  /* or NULL */
    Subset *subset;      /* of the workgroups, which run first; NULL: there is none */
    bool sampling;       /* it runs */
    Record *record;      /* of a few workgroups, for the model of time; or NULL */
    Gws gws;             /* of a cooperative launch */
} Queue;

typedef struct {
    Worker worker;
    Queue *queue;
    Group **groups;
    u32 resident, room, busy;
    u32 at, idle;        /* the workgroup that runs, and its rounds without an end or a barrier */
    bool paused;
    Schedule schedule;
    u64 idle_steps;      /* since a wave ended or reached a barrier */
    u64 steps_then;      /* of the queue, at the last turn in which a wave ran */
    u32 still_turns;     /* since then */
    Standstill *standstill; /* NULL until it is needed */
    bool stands_still;   /* its workgroups wait for ever */
} WorkerThread;

bool worker_create(WorkerThread *c, Memory *m, const Dispatch *d, Queue *q);
void worker_destroy(WorkerThread *c, const Dispatch *d);
/* The work of one thread: until all workgroups of the queue have ended, one faults, or it is time for a pause; then
   the next call continues. */
void *worker_run(void *thread);
/* All its workgroups have ended, and there are more. */
void worker_resume(WorkerThread *c);
bool worker_queue_stopped(Queue *q);
/* Whether workgroups have not begun yet. */
bool worker_queue_waits(Queue *q);
double worker_monotonic_s(void);

#endif
