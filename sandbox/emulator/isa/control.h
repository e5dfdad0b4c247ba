/* Branches, barriers, waits and messages. */
#ifndef AMDKERNEL_ISA_CONTROL_H
#define AMDKERNEL_ISA_CONTROL_H

#include "machine/machine.h"

/* The handler of hints and waits that do nothing here; the loop of a wave skips them. */
void control_no_effect(Wave *w, const Inst *i);
/* A wait, on hosts whose threads see each other's stores in another order than they were made. */
void control_fence(Wave *w, const Inst *i);

#endif
