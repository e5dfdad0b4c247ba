/* The one exit of a wave that cannot continue. */
#ifndef AMDKERNEL_MACHINE_FAULT_H
#define AMDKERNEL_MACHINE_FAULT_H

#include "machine/machine.h"

/* The calls that led to where the wave is, in the order of Fault.callers. */
void fault_callers(const Wave *w, u64 *callers);

void fault_record(Wave *w, const Inst *i, OutcomeKind kind, AddressSpace space, u32 lane, u64 address, u32 bytes,
                bool store);
void fault_not_emulated(Wave *w, const Inst *i);

#endif
