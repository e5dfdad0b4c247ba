/* Loads of memory that nothing wrote, and stores that carry uninitialised values back. */
#ifndef AMDKERNEL_CHECKS_UNINIT_LOADS_H
#define AMDKERNEL_CHECKS_UNINIT_LOADS_H

#include "machine/machine.h"

void uninit_check_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store);
void uninit_check_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
/* What was loaded for `lanes` from beyond LDS: it is a mistake to use it. */
void uninit_check_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes);
void uninit_check_scalar(Wave *w, const Inst *i, u64 address, u32 bytes);

#endif
