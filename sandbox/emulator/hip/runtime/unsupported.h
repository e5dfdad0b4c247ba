/* How a call that is not supported returns. */
#ifndef AMDKERNEL_HIP_REFUSE_H
#define AMDKERNEL_HIP_REFUSE_H

#include "hip/runtime/runtime.h"

/* hipErrorNotSupported. The first time, the call and the reason are printed to stderr. */
hipError_t unsupported(const char *call, const char *why);

#endif
