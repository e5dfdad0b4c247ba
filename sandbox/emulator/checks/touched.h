/* Memory that kernels touch: noted for who asks how much of a buffer was, and static memory of earlier runs. */
#ifndef AMDKERNEL_CHECKS_TOUCHED_H
#define AMDKERNEL_CHECKS_TOUCHED_H

#include "machine/machine.h"

void touched_note(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store);
void touched_note_scalar(Wave *w, const Inst *i, u64 address, u32 bytes);

/* Before the access takes effect: a finding where it loads what an earlier run stored to static memory. */
void touched_check_variables(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store);
void touched_check_variable(Wave *w, const Inst *i, u64 address, u32 bytes);

#endif
