/* What the issue slots of a SIMD go to: instructions by kind, or what the wave waited for that issued next. */
#ifndef AMDKERNEL_TIMING_SLOTS_H
#define AMDKERNEL_TIMING_SLOTS_H

#include "machine/machine.h"

typedef enum {
    ISSUED_VECTOR, ISSUED_MATRIX, ISSUED_SCALAR, ISSUED_LDS, ISSUED_MEMORY, ISSUED_OTHER,
    WAIT_L1, WAIT_L2, WAIT_MALL, WAIT_MEMORY, /* for data, by the level that has them: in the order of Rates.level */
    WAIT_STORES, WAIT_SCALAR_LOADS, WAIT_LDS, WAIT_ADDRESS, WAIT_RESULT, WAIT_VECTOR, WAIT_MATRIX, WAIT_BARRIER, WAIT_FETCH,
    NOTHING_TO_RUN, SLOTS,
} Slot;

typedef struct { u64 clocks[SLOTS]; } Slots;

/* Of one SIMD, up to clock `until`. */
typedef struct { u64 until; Slots of; } Account;

/* Nothing was issued before `now`, because of `why`. */
void slots_lost(Account *a, u64 now, Slot why);

/* At `now` something was issued, for which the SIMD has `slot` clocks. */
void slots_issued(Account *a, u64 now, u32 slot, Slot what);

/* What one wave waited for since it last left a barrier. */
typedef struct { u64 since, clocks[SLOTS]; } Waited;

/* The cause that all waves of a workgroup waited for at a barrier, from what held up its last one: WAIT_BARRIER if nothing
 * did for a quarter of the time. */
Slot slots_cause(const Waited *last, u64 now);

#endif
