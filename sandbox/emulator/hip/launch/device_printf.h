/* printf with the arguments of a kernel. */
#ifndef AMDKERNEL_HIP_DEVICE_PRINTF_H
#define AMDKERNEL_HIP_DEVICE_PRINTF_H

#include "hip/runtime/runtime.h"
#include <stdio.h>

/* Prints `words` of 64 bits: the format, then the arguments. Returns what printf returns. */
i64 device_printf(FILE *out, const u64 *words, size_t count);

#endif
