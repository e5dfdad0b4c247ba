/* Blocks that the program asked for. Code objects and launch records lie in the arena as well, but are not here. */
#ifndef AMDKERNEL_HIP_ALLOCATION_H
#define AMDKERNEL_HIP_ALLOCATION_H

#include "runtime.h"

typedef enum { ALLOCATION_DEVICE, ALLOCATION_HOST, ALLOCATION_MANAGED } AllocationKind;

typedef struct {
    u64 address, bytes;
    AllocationKind kind;
    u32 flags;
} Allocation;

/* hipSuccess and *pointer, NULL for 0 bytes; hipErrorInvalidValue, hipErrorOutOfMemory. */
hipError_t allocation_new(void **pointer, size_t bytes, AllocationKind kind, u32 flags);
/* The block that holds `pointer`, by value. */
bool allocation_find(const void *pointer, Allocation *out);

#endif
