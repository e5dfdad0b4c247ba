/*
 * The distances between the loads and stores of workgroups of which the grid says nothing: one-dimensional grids whose
 * numbers are divided, grouped or dealt to XCDs.
 *
 * A short part of one wave of every workgroup is looked at: the first address of an instruction there, less that of
 * another workgroup, is its distance. Of instructions that the part does not reach, and of stores, which it leaves out, the
 * distance is a combination of two others that holds for all workgroups of the subset. Whether the distances are right,
 * alike.c finds out from the workgroups that ran.
 */
#ifndef AMDKERNEL_MODEL_SHIFTS_H
#define AMDKERNEL_MODEL_SHIFTS_H

#include "model/subset.h"

/* Of instruction `inst` of workgroup `number`, the address of its first lane in that part; false: it did not get there. */
typedef bool FirstAddress(void *context, u64 number, u32 inst, u64 *address);

/* Fills Subset.shift and Subset.cell. False: distances are missing, or no memory. Workgroups are asked in order, and each
 * for all instructions before the next. */
bool shifts_find(Subset *s, FirstAddress *of, void *context);

#endif
