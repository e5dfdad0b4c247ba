/* The heap of malloc in kernels. */
#ifndef AMDKERNEL_HIP_DEVICE_HEAP_H
#define AMDKERNEL_HIP_DEVICE_HEAP_H

#include "hip/runtime/runtime.h"

enum { DEVICE_HEAP_BYTES = 1 << 28 }; /* address space only, until it is used */

/* The heap's structure, which the device libraries manage; blocks for it. 0: no memory. */
u64 device_heap(void);
u64 device_heap_allocate(u64 bytes);
void device_heap_release(u64 address);
/* Where the heap is; 0 bytes while no kernel has asked for it. */
void device_heap_bounds(u64 *address, u64 *bytes);

#endif
