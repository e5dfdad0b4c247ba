/* What a hipcc-built program registers before main: kernels and variables of its fat binaries. */
#ifndef AMDKERNEL_HIP_REGISTERED_H
#define AMDKERNEL_HIP_REGISTERED_H

#include "hip/code/function.h"

/* The kernel behind the address of a host stub, on the current device, or NULL. */
Function *registered_function(const void *host_function, hipError_t *error);
/* The address of `offset` in a variable of the current device. hipErrorInvalidSymbol; hipErrorInvalidValue when the
 * `bytes` from there are not all in it. */
hipError_t registered_range(const void *symbol, size_t bytes, size_t offset, void **address);

#endif
