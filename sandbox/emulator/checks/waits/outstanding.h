/*
 * Operations that have not returned: what a wave's counters of outstanding operations (vmcnt, lgkmcnt and so on) count,
 * and which registers these operations will still write.
 */
#ifndef AMDKERNEL_CHECKS_WAITS_OUTSTANDING_H
#define AMDKERNEL_CHECKS_WAITS_OUTSTANDING_H

#include "checks/findings.h"
#include "checks/races/annotation_operands.h"

/* LOADS is vmcnt or loadcnt, STORES vscnt or storecnt, SHARED lgkmcnt or dscnt, SCALAR lgkmcnt or kmcnt. */
typedef enum { COUNTS_LOADS, COUNTS_STORES, COUNTS_SHARED, COUNTS_SCALAR, WAIT_COUNTERS } WaitCounter;

enum { MOST_OUTSTANDING = 256, NO_HALF = 0, LOWER_HALF = 1, UPPER_HALF = 2 };

/* Registers that an operation will write; none: it stores to LDS. `later`: how many operations its counter has counted since,
 * which return after it. */
typedef struct {
    u32 inst;
    u16 first;
    u8 count, half, counter, later;
    u64 lanes;
    u32 epoch;                /* while a wave runs: of stores to LDS, as the accesses of races are stamped */
    Place place;              /* likewise */
} Operation;

typedef struct Outstanding { Operation of[MOST_OUTSTANDING]; u32 count; } Outstanding;

/* Where a flat access goes: bits. Before a kernel runs, that is not known. */
enum { GOES_TO_MEMORY = 1, GOES_TO_LDS = 2 };

/* Removes what the instruction waits for. False: it does not wait. */
bool outstanding_wait(Outstanding *o, const Program *p, const Inst *i);

/* Adds what the instruction, number `at`, starts. `goes`: of a flat access. Returns how many were added. */
u32 outstanding_start(Outstanding *o, const Program *p, const Annotation *n, u32 at, u64 lanes, u32 goes);

/* The operation that the instruction comes too early for: it reads or overwrites one of its registers, in one of `lanes`.
 * NULL: none. `reads`: whether it reads it. */
const Operation *outstanding_conflict(const Outstanding *o, const Program *p, const Annotation *n, const Inst *i, u64 lanes,
                                      bool *reads);

/* Other waves may continue behind a barrier from here on. */
bool outstanding_passes_barrier(const Inst *i);

/* It loads from memory to LDS, past the registers. */
bool outstanding_moves_to_lds(const Inst *i);
/* It reads LDS, which an operation that is on its way fills; which part of it is not known here. */
bool outstanding_may_read_moved(const Outstanding *o, const Inst *i);

void outstanding_forget(Outstanding *o, u32 inst);
/* Adds what `from` has and `o` lacks; where both have it, the fewer later operations count. True: `o` changed. */
bool outstanding_merge(Outstanding *o, const Outstanding *from);

/* The instruction that waits for the operation: "s_waitcnt vmcnt(2)". */
void outstanding_remedy(const Program *p, const Operation *op, char *text, size_t bytes);

#endif
