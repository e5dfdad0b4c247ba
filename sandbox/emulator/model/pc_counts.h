/* Counts of a program's instructions, one PcExecutions each. */
#ifndef AMDKERNEL_TALLY_H
#define AMDKERNEL_TALLY_H

#include "machine/machine.h"

typedef void PcCountsVisitor(void *context, u32 instruction, PcExecutions pc_counts);

PcExecutions *pc_counts_create(u32 count); /* zeros; NULL when there is no memory */
void pc_counts_destroy(PcExecutions *pc_counts, u32 count);
/* Waves leave differences: one more where a straight run of instructions begins, one less behind its end. Make counts. */
void pc_counts_sum(PcExecutions *pc_counts, u32 count);
/* Those of instructions that ran, in order. */
void pc_counts_visit(const PcExecutions *pc_counts, u32 count, PcCountsVisitor *visit, void *context);

#endif
