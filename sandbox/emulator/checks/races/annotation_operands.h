/* Which registers an instruction reads and writes. */
#ifndef AMDKERNEL_NOTED_OPERANDS_H
#define AMDKERNEL_NOTED_OPERANDS_H

#include "checks/races/annotations.h"
#include "decode/operands.h"

/* Adds them to `n`: from its text, which `words` has taken apart, or from its halves. */
void note_operands(const Program *p, const Words *words, const Inst *i, Note *n);

#endif
