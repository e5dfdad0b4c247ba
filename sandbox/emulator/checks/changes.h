/* Whether the stores and atomics of an instruction change memory, for the proof that a kernel stands still. */
#ifndef AMDKERNEL_CHECKS_CHANGES_H
#define AMDKERNEL_CHECKS_CHANGES_H

#include "machine/machine.h"

enum { MOST_CHANGES = 4 * LANES, MOST_CHANGED_BYTES = 16 };

/* What lay at the places to which an instruction stores. */
struct Changes {
    struct { u8 *at; u32 bytes; u8 before[MOST_CHANGED_BYTES]; } place[MOST_CHANGES];
    u32 count;
    bool too_many;
};

/* Before the effect: lane l of `active` stores `bytes` at address[l], in LDS or scratch at an offset. */
void changes_global(Wave *w, const u64 *address, u64 active, u32 bytes);
void changes_lds(Wave *w, const u32 *offset, u64 active, u32 bytes);
void changes_private(Wave *w, const u32 *offset, u64 active, u32 bytes);
/* After it: whether a byte is another one now. Forgets the places. */
bool changes_any(Changes *c);

#endif
