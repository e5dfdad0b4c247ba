/* Counts of a program's instructions, one Tally each. */
#ifndef AMDKERNEL_TALLY_H
#define AMDKERNEL_TALLY_H

#include "machine/machine.h"

typedef void TallyVisitor(void *context, u32 instruction, Tally tally);

Tally *tallies_create(u32 count); /* zeros; NULL when there is no memory */
void tallies_destroy(Tally *tallies, u32 count);
/* Waves leave differences: one more where a straight run of instructions begins, one less behind its end. Make counts. */
void tallies_sum(Tally *tallies, u32 count);
/* Those of instructions that ran, in order. */
void tallies_visit(const Tally *tallies, u32 count, TallyVisitor *visit, void *context);

#endif
