/*
 * Some of a dispatch's workgroups: which ones, what each of them did, and their counts scaled to all of them.
 *
 * Workgroups are sorted by where they lie in the grid: first, last or between in each of its dimensions. Of each kind some
 * run. alike.c decides whether they speak for the others.
 */
#ifndef AMDKERNEL_MODEL_SUBSET_H
#define AMDKERNEL_MODEL_SUBSET_H

#include "model/l1.h"

enum { SUBSET_KINDS = 27 }; /* first, between, last in three dimensions */

/* What an instruction of a workgroup did. */
typedef struct { u32 inst; PcExecutions ran; PcCounts did; Reach reach; } Did;

typedef struct {
    u64 number;
    u32 at[3], kind;
    Did *did;            /* of the instructions that ran, in order; NULL: it has not run */
    u32 did_count;
    u64 counters[COUNTER_COUNT]; /* those that do not follow from `did` */
    Log log;
    double weight;       /* for how many workgroups it speaks */
} SubsetMember;

/* Workgroups that lie in the grid alike. */
typedef struct {
    u64 size;
    u32 low[3], extent[3]; /* the box in which they lie */
    u32 first, count;    /* members */
    u32 anchor;          /* member from which distances are measured */
    i64 (*step)[3];      /* by slot: bytes to the next workgroup in each dimension */
    u32 period[3];       /* after so many workgroups the same place within a line */
} SubsetKind;

typedef struct Subset {
    const Dispatch *dispatch;
    u64 total;
    SubsetKind kind[SUBSET_KINDS];
    SubsetMember *member;      /* sorted by kind */
    u32 count;
    u64 *numbers;        /* sorted */
    u32 *slot_of;        /* of each instruction that touches memory; else 0 */
    u32 slots;
    double requests_error; /* the share of requests to the L2 that is not foreseen */
    /* Where distances do not follow from the grid, those of each workgroup, see shifts.c; else NULL. */
    i64 *shift;          /* bytes, `slots + 1` of each workgroup: to slot s of workgroup g at [g * (slots + 1) + s] */
    u32 *cell;           /* of each workgroup: the same number for the same places within lines */
} Subset;

/* NULL where there is nothing to gain, or no memory. */
Subset *subset_create(const Dispatch *d);
void subset_destroy(Subset *s);

/* How many workgroups run first, and which one runs at position `turn`; behind the subset follow all others. */
u64 subset_size(const Subset *s);
u64 subset_workgroup(const Subset *s, u64 turn);

/* The kind of any workgroup and where it lies; the member, or NULL. */
const SubsetKind *subset_kind(const Subset *s, u64 number, u32 *at);
SubsetMember *subset_member(const Subset *s, u64 number);
/* A number that looks random. */
u64 subset_mix(u64 x);

/* Workgroup `number` has ended on this thread. Of a subset: its counts and requests are kept, and those of the thread begin
 * again. `s` NULL: its requests go on to the L2. */
void subset_group_end(Subset *s, u64 number, u32 waves, L1Group *t, Worker *k);
/* About how many wave-instructions all workgroups execute. */
u64 subset_estimate(const Subset *s);
/* The others run as well: gives the model the requests of the subset. */
void subset_release(Subset *s, L2Model *m);

#endif
