/* Saying no: the sentence on stderr tells the call and why. */
#ifndef AMDKERNEL_HIP_REFUSE_H
#define AMDKERNEL_HIP_REFUSE_H

#include "hip/runtime/runtime.h"

/* hipErrorNotSupported; each call is told once. */
hipError_t unsupported(const char *call, const char *why);

#endif
