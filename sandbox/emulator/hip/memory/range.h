/* Ranges of memory that a copy or a fill names. */
#ifndef AMDKERNEL_HIP_MEMORY_RANGE_H
#define AMDKERNEL_HIP_MEMORY_RANGE_H

#include "hip/runtime/runtime.h"

/* hipErrorInvalidValue for a range that begins in a block of ours and leaves it, or that is in no block of device memory
 * though it must be. Variables of code objects are in blocks too. */
hipError_t range_check(const void *pointer, size_t bytes, bool must_be_device);
/* Whether it is memory of the host that no HIP call has made or pinned. */
bool range_is_pageable(const void *pointer);

#endif
