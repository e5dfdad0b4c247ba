/* The time of a dispatch on the unit that has most of its workgroups, as counters in clocks of the shader. */
#ifndef AMDKERNEL_TIMING_TIMING_H
#define AMDKERNEL_TIMING_TIMING_H

#include "timing/record.h"

/* Adds SIMULATION_COUNTERS to the outcome, whose other counters are complete. What is not known stays 0. */
void timing_gather(const Dispatch *d, const Record *r, Outcome *out);

#endif
