/* The list of what the checks of a worker found: one entry for each kind and instruction, with a count. */
#ifndef AMDKERNEL_CHECKS_FINDINGS_H
#define AMDKERNEL_CHECKS_FINDINGS_H

#include "machine/machine.h"

/* What one worker has found. */
struct Findings {
    Finding found[MAX_FINDINGS];
    u64 at[MAX_FINDINGS]; /* the instruction that did it last, by its number among those that the worker has run */
    u32 count;
};

/* The finding of this kind at this instruction (and, for races, with this partner), counted once more; the first time
 * it is empty but for its key. NULL when there is no room for another. Without checks there are findings as well:
 * accesses beyond a block that the hardware permits. */
Finding *findings_at(Worker *k, OutcomeKind kind, u64 pc, u64 partner_pc);

/* The place of an access as a fault reports it. The instruction's text is added at the end. */
Fault findings_place(const Wave *w, const Inst *i, OutcomeKind kind, AddressSpace space, u32 lane, u64 address, u32 bytes,
               bool store);
/* An instruction, and the calls that led there. */
typedef struct { u64 at, callers[CALLERS]; } Place;
Place findings_code_place(const Wave *w, const Inst *i);
/* `use`: of an uninitialised value that was loaded at `f`; else NULL. */
void findings_report(Wave *w, const Fault *f, const Place *use);
/* `lanes` reach beyond a block or LDS, the one that `lane` and `address` name first; by `off` bytes at most. */
void findings_report_overrun(Wave *w, const Inst *i, AddressSpace space, u32 lane, u64 address, u32 bytes, bool store, u32 lanes,
                    u64 off);

/* Adds the worker's findings to those of others. */
void findings_gather(const Worker *k, Outcome *out);

#endif
