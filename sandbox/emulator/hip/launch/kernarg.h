/* A kernel's argument segment. */
#ifndef AMDKERNEL_HIP_KERNARG_H
#define AMDKERNEL_HIP_KERNARG_H

#include "hip/launch/launch_shape.h"

/* Hidden arguments that do not follow from the launch's shape: device addresses, or 0. */
typedef struct { u64 hostcall, printf, heap, multigrid; } HiddenBlocks;

/* Writes what the kernel reads at its kernarg pointer. `out` has kernarg_bytes. */
hipError_t kernarg_fill(u8 *out, const KernelMetadata *k, const LaunchShape *shape, void **parameters, void **extra,
                        const HiddenBlocks *hidden);
/* The buffer of values that HIP's `extra` list names; false when it names none. */
bool kernarg_read_extra(void **extra, const void **buffer, size_t *bytes);

#endif
