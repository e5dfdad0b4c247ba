/* Orders of workgroups and waves: one after the other, or shuffled by a seed. */
#ifndef AMDKERNEL_SCHEDULE_H
#define AMDKERNEL_SCHEDULE_H

#include "emulator.h"

typedef struct { u64 seed, state, total; } Schedule;

/* A number that looks random, the same for the same `x`. */
u64 schedule_mix(u64 x);

Schedule schedule_create(u64 seed, u64 workgroups);
/* The workgroup that runs at position `turn`; each workgroup has one position. */
u64 schedule_workgroup(const Schedule *s, u64 turn);
/* A number below `below`. */
u32 schedule_draw(Schedule *s, u32 below);
/* How many wave-instructions of a workgroup until the next preemption: in some few, in others sometimes many. */
u64 schedule_slice(Schedule *s, u64 workgroup);

#endif
