/* Workers and the workgroups that they take from a dispatch. */
#ifndef AMDKERNEL_CREW_H
#define AMDKERNEL_CREW_H

#include "isa/gws.h"
#include "model/l1.h"
#include "run/schedule.h"
#include "run/wave.h"

typedef struct {
    const Dispatch *dispatch;
    u64 next, total;     /* workgroups handed out, and in all */
    u64 steps, waves;
    u64 stop_at;         /* the first workgroup that shall not go on: ~0 until one faults */
    double pause_at;     /* when the workers shall return though they have not ended; 0: never */
    double end_at;       /* when the time limit is reached; 0: never */
    MemoryModel *model;  /* or NULL */
    Gws gws;             /* of a cooperative launch */
} Queue;

typedef struct {
    Worker worker;
    Queue *queue;
    Group **groups;
    u32 resident, room, busy;
    u32 at, idle;        /* whose turn it is, and its rounds without an end or a barrier */
    bool paused;
    Schedule schedule;
    u64 idle_steps;      /* since a wave ended or reached a barrier */
} Crew;

bool crew_create(Crew *c, Memory *m, const Dispatch *d, Queue *q);
void crew_destroy(Crew *c, const Dispatch *d);
/* The work of one thread: until all workgroups of the queue have ended, one faults, or it is time for a pause; then
   the next call goes on. */
void *crew_work(void *crew);
bool queue_stopped(Queue *q);
double monotonic_s(void);

#endif
