/* How many workgroups a device holds at once. */
#ifndef AMDKERNEL_HIP_OCCUPANCY_H
#define AMDKERNEL_HIP_OCCUPANCY_H

#include "hip/code/function.h"

/* Workgroups of a kernel that all compute units of the device hold together. */
u64 occupancy_resident(const Function *f, u32 block_items, u32 dynamic_lds_bytes);

#endif
