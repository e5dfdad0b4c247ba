/* Dual instructions (VOPD): two at a time; both read before either writes.  RDNA3 ISA, "Dual issue" */
#ifndef AMDKERNEL_DUAL_H
#define AMDKERNEL_DUAL_H

#include "machine/machine.h"

/* Makes `i` run both, ordered so that the second reads nothing that the first writes, where possible. */
void dual_join(Inst *i, Inst half[2]);

#endif
