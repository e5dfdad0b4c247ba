/* Fills in one, two and three dimensions. */
#ifndef AMDKERNEL_HIP_FILL_H
#define AMDKERNEL_HIP_FILL_H

#include "hip/work/work.h"

hipError_t fill_run(const FillWork *w);
/* The fill of a graph's memset node. */
hipError_t fill_from_parameters(const hipMemsetParams *p, FillWork *out);

#endif
