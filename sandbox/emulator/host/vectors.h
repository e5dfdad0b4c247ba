/* Vector operations that the compiler does not find by itself, for the processor that is compiled for. */
#ifndef AMDKERNEL_HOST_VECTORS_H
#define AMDKERNEL_HOST_VECTORS_H

#if defined(__AVX2__) && !defined(AMDKERNEL_PORTABLE)
#include "host/vectors_x86.h"
#else
#include "host/vectors_portable.h"
#endif

#endif
