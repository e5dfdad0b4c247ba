/* The emulated GPU: its properties, and its limits for a launch. */
#ifndef AMDKERNEL_HIP_DEVICE_H
#define AMDKERNEL_HIP_DEVICE_H

#include "hip/runtime/runtime.h"

typedef struct {
    const char *arch, *target, *name;
    int major, minor, stepping;
    int compute_units, wave, simds, waves_per_simd;
    u32 vgprs_per_simd_lane, vgpr_granule; /* registers of a lane over all waves of a SIMD */
    u32 lds_bytes;                         /* per workgroup, and per compute unit */
    int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
} Device;

/* The device of option `arch`. Ends the process if there is no such device. */
const Device *device(void);

enum { MAX_WORKGROUP = 1024 };

#endif
