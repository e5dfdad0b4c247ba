/* The workgroups of a large grid in which races are looked for. */
#ifndef AMDKERNEL_CHECKS_RACES_SAMPLE_H
#define AMDKERNEL_CHECKS_RACES_SAMPLE_H

#include "emulator.h"

/* Blocks of neighbours: the first and the last of the grid, the others in equal parts of it, moved by a seed. */
typedef struct { u64 total, row, blocks, in_row, rows, seed; } Sample;

/* One of `every` workgroups, but not fewer than a few dozens. 0 or 1: all. Each seed chooses others. */
Sample sample_create(const u32 *workgroups, u64 every, u64 seed);
bool sample_has(const Sample *s, u64 workgroup);

#endif
