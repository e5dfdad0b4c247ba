/* Doing work. */
#ifndef AMDKERNEL_HIP_RUN_H
#define AMDKERNEL_HIP_RUN_H

#include "hip/work/work.h"

/* Does the work now, for the stream that was given; not kernels and graphs, which take their time. */
hipError_t run_work(const Work *w, hipStream_t stream);

#endif
