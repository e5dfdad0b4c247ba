/* A kernel's fault stays: as on a GPU, every call that waits for the device returns it until hipDeviceReset. */
#ifndef AMDKERNEL_HIP_FAULT_H
#define AMDKERNEL_HIP_FAULT_H

#include "hip/runtime/runtime.h"

/* The latched fault, or hipSuccess: the value of every call that waits for the device. */
hipError_t fault_latched(void);
/* Latches an error, unless an earlier one is latched already. */
void fault_latch(hipError_t error);
void fault_clear(void);

#endif
