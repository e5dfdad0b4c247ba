/* The levels that workgroups share, fed in the order of the workgroups' numbers. */
#ifndef AMDKERNEL_MODEL_L2_H
#define AMDKERNEL_MODEL_L2_H

#include "model/caches.h"
#include "model/trace.h"

typedef struct L2Model L2Model;

/* NULL without memory, or for an architecture without a shape. */
L2Model *l2_create(const Dispatch *d);
void l2_destroy(L2Model *m);

/* After the last workgroup: empties what does not outlive a dispatch, and adds to the counters and to `pcs` if given. */
void l2_finish(L2Model *m, u64 *counters, PcCounts *pcs);

/* What a workgroup asks of the levels behind its vL1D. */
typedef Trace Log;

const GpuShape *l2_shape(const L2Model *m);
/* Of a wave. */
u32 l2_lanes(const L2Model *m);
/* The vL1Ds that the waves of a workgroup share among them, and of the 64 ways of one, those of the workgroup. */
u32 l2_l1_count(const L2Model *m);
u32 l2_l1_ways(const L2Model *m);
/* What a workgroup asks, by another one's requests: those of instruction i lie `moved[slot_of[i]]` lines further. */
typedef struct { const Log *log; const i64 *moved; } Likely;
typedef Likely LikelyOf(void *context, u64 number);
/* In place of l2_group() for all workgroups. `slot_of`: of each instruction. */
void l2_replay(L2Model *m, const u32 *slot_of, LikelyOf *of, void *context);
/* Workgroup `number` has ended. Takes the requests; `log` is empty then. */
void l2_group(L2Model *m, u64 number, Log *log);

#endif
