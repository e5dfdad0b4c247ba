/* Missing waits of hand-written assembly, while a wave runs. */
#ifndef AMDKERNEL_CHECKS_WAITS_H
#define AMDKERNEL_CHECKS_WAITS_H

#include "checks/shadow.h"

/* Before each instruction of a wave whose waits are followed. */
void waits_before(Wave *w, const Inst *i);
/* Lanes read LDS: whether other waves stored there and passed a barrier before the store had landed. */
void waits_read_of_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes);
void waits_destroy(WaveShadow *s);

#endif
