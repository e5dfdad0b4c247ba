/*
 * A model of the memory levels behind the lanes: which line was found where. Counts only; there is no time in it.
 *
 * It is the same for any number of threads: what a workgroup asks depends on the workgroup alone, and the levels that
 * workgroups share see their requests in an order that follows from the workgroups' numbers.
 */
#ifndef AMDKERNEL_MEMORY_MODEL_H
#define AMDKERNEL_MEMORY_MODEL_H

#include "model/caches.h"
#include "model/lds.h"
#include "model/trace.h"

/* ---- what stays from dispatch to dispatch: emulator.h's Caches ---- */

struct Caches {
    const MemoryShape *shape;
    Cache *l2;      /* one for each XCD */
    Cache *gl1;     /* graphics L1, one for each shader array; NULL: there is none */
    Cache *scalar;  /* sL1D: one for two CUs */
    Cache mall;
};

/* ---- of a dispatch ---- */

typedef struct MemoryModel MemoryModel;

/* NULL without memory, or for an architecture without a shape. */
MemoryModel *memory_model_create(const Dispatch *d);
void memory_model_destroy(MemoryModel *m);

/* After the last workgroup: empties what does not outlive a dispatch, and adds to the counters and to `pcs` if given. */
void memory_model_finish(MemoryModel *m, u64 *counters, PcCounts *pcs);

/* ---- of a thread ---- */

typedef struct MemoryView MemoryView;

MemoryView *memory_view_create(MemoryModel *m);
void memory_view_destroy(MemoryView *v);
void memory_view_count(const MemoryView *v, u64 *counters);

/* ---- of a workgroup ---- */

typedef struct GroupTrace GroupTrace;

GroupTrace *group_trace_create(u32 waves);
void group_trace_destroy(GroupTrace *t);
Trace *group_trace_wave(GroupTrace *t, u32 wave);

/* Between slices of the waves: shortens traces that have become long. */
void group_trace_relieve(MemoryView *v, GroupTrace *t, Worker *k);
/* The workgroup has ended: its traces pass the vL1D, and what that did not have goes on to the L2. */
void group_trace_end(MemoryView *v, GroupTrace *t, u64 number, Worker *k);

/* ---- of an instruction; called by watch.c ---- */

void memory_view_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, AccessKind kind);
void memory_view_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, AccessKind kind);
void memory_view_scalar(Wave *w, const Inst *i, u64 address, u32 bytes);

#endif
