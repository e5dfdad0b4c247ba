/* Where scalar memory instructions go: loads, and the stores and atomics of scalar_stores.c. */
#ifndef AMDKERNEL_ISA_SMEM_H
#define AMDKERNEL_ISA_SMEM_H

#include "machine/machine.h"

/* Offset register or immediate, or both. */
u64 smem_offset(const Wave *w, const Inst *i);

/* The buffer whose descriptor source 0 names: its address, and its size in bytes. False: a fault was recorded. */
bool smem_buffer(Wave *w, const Inst *i, u64 *base, u64 *size);

#endif
