/* Conversions between types. */
#ifndef AMDKERNEL_ISA_CONVERT_H
#define AMDKERNEL_ISA_CONVERT_H

#include "machine/machine.h"

/* The bits of its first register that an instruction writes, where it may be a conversion that leaves the others. */
u32 convert_written_bits(const Inst *i);

#endif
