/* A range of addresses that kernels may touch. */
#ifndef AMDKERNEL_MEMORY_SPAN_H
#define AMDKERNEL_MEMORY_SPAN_H

#include "emulator.h"

typedef struct { u64 low, high; bool writable, input; } Span;  /* addresses low..high-1 */

#endif
