/* The levels that workgroups share, fed in the order of the workgroups' numbers. See replay.c. */
#ifndef AMDKERNEL_REPLAY_H
#define AMDKERNEL_REPLAY_H

#include "model/l1.h"

/* What a workgroup asks of the levels behind its vL1D. */
typedef Trace Log;

const MemoryShape *memory_model_shape(const MemoryModel *m);
/* Of a wave. */
u32 memory_model_lanes(const MemoryModel *m);
/* The vL1Ds that the waves of a workgroup share among them, and of the 64 ways of one, those of the workgroup. */
u32 memory_model_l1_count(const MemoryModel *m);
u32 memory_model_l1_ways(const MemoryModel *m);
/* Workgroup `number` has ended. Takes the requests; `log` is empty then. */
void memory_model_group(MemoryModel *m, u64 number, Log *log);

#endif
