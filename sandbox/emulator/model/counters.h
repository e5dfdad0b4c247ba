/* Exact counts of a dispatch, from how often each instruction ran. */
#ifndef AMDKERNEL_MODEL_COUNTERS_H
#define AMDKERNEL_MODEL_COUNTERS_H

#include "machine/machine.h"

void counters_gather(const Program *p, const PcExecutions *pc_counts, u64 waves, u64 *counters);
void counters_add_worker(const Worker *k, u64 *counters);
void counters_divergence(Wave *w, const Inst *i);
u64 counters_bytes_asked(const Inst *i, PcExecutions t);

#endif
