/* Which registers an instruction reads and writes. */
#ifndef AMDKERNEL_NOTED_OPERANDS_H
#define AMDKERNEL_NOTED_OPERANDS_H

#include "checks/races/annotations.h"
#include "decode/operands.h"

/* Adds them to `n`: from its text, which `words` has taken apart, or from its halves. */
void annotation_operands_add(const Program *p, const Words *words, const Inst *i, Annotation *n);

#endif
