/* What is quicker while no lane sleeps. */
#ifndef AMDKERNEL_AWAKE_H
#define AMDKERNEL_AWAKE_H

#include "machine/machine.h"

/* Sets Inst.awake, and where its rows lie, of every instruction; their sources must be settled. */
void all_active_settle(Program *p);

#endif
