/* Copies of a range. */
#ifndef AMDKERNEL_HIP_COPY_H
#define AMDKERNEL_HIP_COPY_H

#include "hip/work/work.h"

/* What is wrong with the copy; a range that leaves its block is reported too. */
hipError_t copy_check(const CopyWork *w);
hipError_t copy_run(const CopyWork *w);

#endif
