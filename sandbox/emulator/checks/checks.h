/*
 * Checks of running waves: uses of unset memory, stores to inputs, races.
 *
 * A finding does not stop a wave. Each instruction (for races: each pair) has one finding with a count.
 */
#ifndef AMDKERNEL_CHECKS_H
#define AMDKERNEL_CHECKS_H

#include "machine/machine.h"

bool checks_create(Worker *k, Memory *m, const Dispatch *d);
void checks_destroy(Worker *k);
/* Adds what the worker's checks know of the dispatch to its outcome. */
void checks_gather(const Worker *k, Outcome *out);
/* ---- the loop of a wave that is followed step by step ---- */

/* True while every instruction of the wave must be looked at. */
bool checks_follow(const Wave *w);
/* Around one instruction. */
void checks_before(Wave *w, const Inst *i);
void checks_after(Wave *w, const Inst *i);

/* ---- what is known of a workgroup; nothing without checks ---- */

bool checks_group_create(GroupShadow **out, const Worker *k, u32 lds_bytes);
void checks_group_destroy(GroupShadow **shadow);
void checks_group_start(GroupShadow *g, const Worker *k, u64 number, u32 waves);
void checks_group_barrier(GroupShadow *g, const Worker *k);

#endif
