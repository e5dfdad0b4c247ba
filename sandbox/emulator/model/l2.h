/* The levels that workgroups share, fed in the order of the workgroups' numbers. See replay.c. */
#ifndef AMDKERNEL_REPLAY_H
#define AMDKERNEL_REPLAY_H

#include "model/l1.h"

/* What a workgroup asks of the levels behind its vL1D. */
typedef Trace Log;

const GpuShape *l2_shape(const L2Model *m);
/* Of a wave. */
u32 l2_lanes(const L2Model *m);
/* The vL1Ds that the waves of a workgroup share among them, and of the 64 ways of one, those of the workgroup. */
u32 l2_l1_count(const L2Model *m);
u32 l2_l1_ways(const L2Model *m);
/* Workgroup `number` has ended. Takes the requests; `log` is empty then. */
void l2_group(L2Model *m, u64 number, Log *log);

#endif
