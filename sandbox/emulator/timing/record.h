/* What the waves of a few workgroups of a dispatch executed, instruction by instruction, for the model of a unit's time. */
#ifndef AMDKERNEL_TIMING_RECORD_H
#define AMDKERNEL_TIMING_RECORD_H

#include "machine/machine.h"
#include "model/subset.h"

/* An instruction that a wave executed. `shared`: of LDS, its cycles and those lost to conflicts; else, of memory, the lines of
 * 128 bytes and the tag lookups of the vL1D (0: not known how the address unit takes a wave). */
typedef struct { u32 inst : 31, shared : 1; u16 work, extra; } Step;

/* A wave's. What does not fit is lost: the steps are the first ones of the wave. */
typedef struct Steps { Step *step; u32 count, room, most; } Steps;

enum { MOST_RECORDED = 4 };

/* One workgroup. */
typedef struct { u64 number; u32 waves; Steps *wave; } Recorded;

/* `count` of them, chosen before the dispatch begins; `lost`: too little memory for all of their steps. */
typedef struct Record { Recorded group[MOST_RECORDED]; u32 count; } Record;

/* Workgroups spread over the grid, or over the subset that runs if there is one. NULL without memory. */
Record *record_create(const Dispatch *d, const Subset *s);
void record_destroy(Record *r);

/* Where wave `wave` of workgroup `number` is recorded; NULL: it is not. */
Steps *record_steps(Record *r, u64 number, u32 wave);

/* Runs instruction number `inst` and adds it. */
void record_run(Wave *w, const Inst *i, u32 inst, void (*run)(Wave *w, const Inst *i));

#endif
