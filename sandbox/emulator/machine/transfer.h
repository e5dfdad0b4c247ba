/* Moves bytes between registers and memory, where access.c found that lanes may touch it. */
#ifndef AMDKERNEL_MACHINE_TRANSFER_H
#define AMDKERNEL_MACHINE_TRANSFER_H

#include "machine/access.h"

/* One lane's 64-byte-at-most copies between registers and memory. */
void transfer_load(Wave *w, const Access *a, u16 dst, u32 words);
void transfer_store(Wave *w, const Access *a, u16 source, u32 words);

/* ---- small loads: how one to two bytes fill a register ---- */
enum { EXTEND_ZERO, EXTEND_SIGN, EXTEND_LOW, EXTEND_HIGH, EXTEND_SIGN_LOW, EXTEND_SIGN_HIGH };
void transfer_load_small(Wave *w, const Access *a, u16 dst, u32 bytes, u8 extend);
void transfer_store_small(Wave *w, const Access *a, u16 source, u32 bytes, bool high);

#endif
