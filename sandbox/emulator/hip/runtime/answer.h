/* How an API function of HIP returns. */
#ifndef AMDKERNEL_HIP_ANSWER_H
#define AMDKERNEL_HIP_ANSWER_H

#include "hip/runtime/runtime.h"

/* `error` itself; it is kept for hipGetLastError unless it is hipSuccess. */
hipError_t answer(hipError_t error);

#endif
