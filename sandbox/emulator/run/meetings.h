/* Waves that have just loaded what other workgroups may store: in shuffled orders those run in between. */
#ifndef AMDKERNEL_RUN_MEETINGS_H
#define AMDKERNEL_RUN_MEETINGS_H

#include "run/schedule.h"
#include "run/wave.h"

/* How far a dispatch has come: wave-instructions, and workgroups handed out, of so many. */
typedef struct { u64 steps, next, total; } Progress;

/* The wave has loaded such a value, and may have to wait. */
void meetings_hold(Schedule *s, Progress now, Wave *w);
/* It has not ended, and waits neither behind such a load nor at a barrier. */
bool meetings_can_run(Progress now, const Wave *w);
bool meetings_any_can_run(Progress now, const Group *g);
/* Waves that wait behind a load continue. */
void meetings_release(Group *g);

#endif
