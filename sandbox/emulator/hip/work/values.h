/* Values in memory that streams wait for and write. */
#ifndef AMDKERNEL_HIP_VALUES_H
#define AMDKERNEL_HIP_VALUES_H

#include "hip/work/work.h"

/* The wait or the write of one item of a list; false for an item without effect here. */
bool values_item(const hipStreamBatchMemOpParams *p, Work *out);
hipError_t values_check(const hipStreamBatchMemOpParams *list, u32 count);

/* Whether memory has the value that is waited for. */
bool values_is_reached(const ValueWork *w);
hipError_t values_write(const ValueWork *w);

#endif
