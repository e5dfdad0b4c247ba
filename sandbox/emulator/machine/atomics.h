/* Read-modify-write of memory, lane after lane. */
#ifndef AMDKERNEL_MACHINE_ATOMICS_H
#define AMDKERNEL_MACHINE_ATOMICS_H

#include "machine/access.h"

/* Lane after lane; `data` and `compare` are registers (compare may be 0xffff), `dst` 0xffff: nothing is returned. */
void atomics_run(Wave *w, const Inst *i, const Access *a, AtomicOp op, u32 bytes, u16 data, u16 compare, u16 dst);

/* One of them, by a scalar instruction, on 4 or 8 bytes: the old value. */
u64 atomics_scalar(AtomicOp op, void *at, u32 bytes, u64 value, u64 compare);

#endif
