/* Faster handlers for waves whose lanes are all active. */
#ifndef AMDKERNEL_AWAKE_H
#define AMDKERNEL_AWAKE_H

#include "machine/machine.h"

/* Sets Inst.all_active, and where its rows lie, of every instruction; their sources must be settled. */
void all_active_settle(Program *p);

#endif
