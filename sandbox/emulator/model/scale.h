/* The counts of a subset, each member's times the workgroups for which it speaks. */
#ifndef AMDKERNEL_MODEL_SCALE_H
#define AMDKERNEL_MODEL_SCALE_H

#include "model/subset.h"

/* The counter is not a sum over workgroups, but the largest value of any. */
bool scale_is_largest(int counter);
/* Adds the counts of all members. Returns their waves. */
u64 scale_gather(const Subset *s, PcExecutions *sum, u64 *counters);
void scale_gather_pcs(const Subset *s, PcCounts *pcs);

#endif
