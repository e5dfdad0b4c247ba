/* Reads of kernel arguments beyond their end. */
#ifndef AMDKERNEL_CHECKS_KERNARG_H
#define AMDKERNEL_CHECKS_KERNARG_H

#include "machine/machine.h"

void kernarg_check(Wave *w, const Inst *i, AddressSpace space, const u64 *address, u64 active, u32 bytes);

#endif
