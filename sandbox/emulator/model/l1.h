/*
 * A model of the memory levels behind the lanes: which line was found where. Counts only; there is no time in it.
 *
 * It is the same for any number of threads: what a workgroup asks depends on the workgroup alone, and the levels that
 * workgroups share see their requests in an order that follows from the workgroups' numbers.
 */
#ifndef AMDKERNEL_MEMORY_MODEL_H
#define AMDKERNEL_MEMORY_MODEL_H

#include "model/l2.h"

/* ---- of a thread ---- */

typedef struct L1View L1View;

L1View *l1_view_create(L2Model *m);
void l1_view_destroy(L1View *v);
void l1_view_count(const L1View *v, u64 *counters);

/* So far: lines of 128 bytes that instructions touched, and tag lookups of the vL1D. */
typedef struct { u64 lines, lookups; } MemoryWork;
MemoryWork l1_view_work(const L1View *v);

/* ---- of a workgroup ---- */

typedef struct L1Group L1Group;

L1Group *l1_group_create(u32 waves);
void l1_group_destroy(L1Group *t);
Trace *l1_group_wave(L1Group *t, u32 wave);

/* Between slices of the waves: shortens traces that have become long. */
void l1_group_relieve(L1View *v, L1Group *t, Worker *k);
/* The workgroup has ended: its traces pass the vL1D, and what that did not have goes on to the L2. */
void l1_group_end(L1View *v, L1Group *t, u64 number, Worker *k);

/* ---- of workgroups whose counts are kept apart, see subset.h ---- */

/* Where an instruction went: the address of its first lane, and the sum over all lanes. */
typedef struct { u64 first, sum, lanes; } Reach;

/* From here on places are noted, one for each instruction of a program of `count`. False: no memory. */
bool l1_view_note_places(L1View *v, u32 count);
Reach *l1_view_places(L1View *v);
/* In place of l1_group_end(): adds the counts of the thread, which begin again, and takes the requests to the L2. */
void l1_group_take(L1View *v, L1Group *t, Worker *k, u64 *counters, Log *log);

/* ---- of an instruction; called by observers.c ---- */

void l1_view_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, AccessKind kind);
void l1_view_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, AccessKind kind);
void l1_view_scalar(Wave *w, const Inst *i, u64 address, u32 bytes, AccessKind kind);

#endif
