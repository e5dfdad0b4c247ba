/* Read-modify-write of memory, lane after lane. */
#ifndef AMDKERNEL_MACHINE_ATOMICS_H
#define AMDKERNEL_MACHINE_ATOMICS_H

#include "machine/access.h"

/* Lane after lane; `data` and `compare` are registers (compare may be 0xffff), `dst` 0xffff: nothing is returned. */
void atomics_run(Wave *w, const Inst *i, const Access *a, AtomicOp op, u32 bytes, u16 data, u16 compare, u16 dst);

#endif
