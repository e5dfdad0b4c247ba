/*
 * How many clocks one unit takes for its share of a dispatch: the workgroups that are resident together issue the recorded
 * instructions in order, wait for registers, counters and barriers, and share pipes, LDS and the memory below.
 */
#ifndef AMDKERNEL_TIMING_UNIT_H
#define AMDKERNEL_TIMING_UNIT_H

#include "timing/code.h"
#include "timing/record.h"
#include "timing/slots.h"

/* Of 65,536 executions of an instruction, how many find their lines in the vL1D; of the others in the L2, and so on. */
typedef struct { u32 l1, l2, mall; } Found;

typedef struct {
    const Rates *rates;
    const Record *record;
    const Op *op;           /* by instruction */
    const Found *found;     /* by instruction */
    u32 cus, simds;
    u32 resident, groups;   /* workgroups at once, and in all */
    u64 most_steps;         /* then it stops */
    float lds_rate;         /* in times one CU's LDS */
    float l2, mall, memory; /* bytes a clock that it gets */
    u32 across;             /* of 65,536 reads that miss in the L2, those of lines that another L2 has read */
    float written;          /* of stored bytes, those that go on to memory */
} Unit;

/* What is left out or done otherwise in another run of the same instructions, to see what it costs or brings. LOADS_EARLIER:
 * a load that a wave repeats was asked for when it did so before; ALL_IN_L1: loads find their lines there; ONE_L2: what
 * another XCD has read is in the L2. */
typedef enum {
    CHANGE_NOTHING, NO_MEMORY_LATENCY, NO_LDS_CONFLICTS, NO_LDS_TIME, NO_BARRIERS, NO_SCATTERED_LINES, NO_VECTOR_TIME, NO_MATRIX_TIME,
    LOADS_EARLIER, FULL_MATRIX_RATE, ALL_IN_L1, ONE_L2,
} Change;

/* Clocks, the wave-instructions that were executed in them, and what the clocks of all SIMDs went to. 0 steps: no memory. */
typedef struct { u64 clocks, steps; Slots slots; } UnitTime;

UnitTime unit_run(const Unit *u, Change change);

#endif
