/* Random numbers by place: each is a function of seed, sequence and index, so no order of calls changes them. The same as
 * amdkernel_mcp/measurement/timing/draws.py. */
#ifndef AMDKERNEL_HIP_DRAWS_H
#define AMDKERNEL_HIP_DRAWS_H

#include "emulator.h"

typedef enum {
    DRAW_RAMP, DRAW_PERIOD, DRAW_PHASE, DRAW_STEP_GAP, DRAW_LEVEL, DRAW_BURST_GAP, DRAW_BURST_LENGTH, DRAW_BURST_SLOWDOWN,
    DRAW_PLACEMENT, DRAW_JITTER, DRAW_TAIL, DRAW_TAIL_LENGTH
} Sequence;

double draw_uniform(u64 seed, Sequence sequence, u64 index);     /* between 0 and 1, both excluded */
double draw_normal(u64 seed, Sequence sequence, u64 index);      /* of mean 0 and deviation 1 */
double draw_exponential(u64 seed, Sequence sequence, u64 index); /* of mean 1 */
/* As numpy.random.Generator.pareto: 0 is the least value. */
double draw_pareto(u64 seed, Sequence sequence, u64 index, double exponent);

#endif
