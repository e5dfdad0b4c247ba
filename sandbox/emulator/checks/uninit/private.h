/* Private memory that its work-item has not written. */
#ifndef AMDKERNEL_CHECKS_UNINIT_PRIVATE_H
#define AMDKERNEL_CHECKS_UNINIT_PRIVATE_H

#include "checks/shadow.h"

/* An access of private memory, before it takes effect. */
void private_check(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
void private_destroy(WaveShadow *s);

#endif
