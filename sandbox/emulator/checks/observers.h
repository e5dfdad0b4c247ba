/*
 * Observers of memory accesses: models that count, and checks that find mistakes.
 *
 * access.c and the LDS and scalar handlers report each access once, after its bounds were checked and before it takes
 * effect. Without an observer that costs one predictable branch.
 */
#ifndef AMDKERNEL_WATCH_H
#define AMDKERNEL_WATCH_H

#include "machine/machine.h"

typedef enum {
    OBSERVE_COUNTERS = 1, OBSERVE_MEMORY = 2, OBSERVE_RACES = 4, OBSERVE_TOUCHED = 8, OBSERVE_CHANGES = 16,
    OBSERVE_MEETINGS = 32
} Observer;

u32 observers_of(const Dispatch *d);

/* `bytes` at address[l] for each lane l of `active`. */
void observe_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store);
/* Likewise at offsets within the workgroup's LDS. */
void observe_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
/* These lanes load from beyond LDS, and get zero. */
void observe_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes);
/* Likewise within each lane's scratch. */
void observe_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
/* A scalar load of `bytes` for the wave as a whole. */
void observe_scalar(Wave *w, const Inst *i, u64 address, u32 bytes);
/* Likewise a scalar store or atomic. */
void observe_scalar_store(Wave *w, const Inst *i, u64 address, u32 bytes);
/* The wave has come to a barrier. */
void observe_barrier(Wave *w);

/* A scalar load or store whose two low address bits are ignored, though they are set. */
void observe_misaligned(Wave *w, const Inst *i, u64 address, u32 bytes);

#endif
