/* The GPU that is emulated: what HIP tells of it, and its limits for a launch. */
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

/* That of option arch. Ends the process when there is no such device. */
const Device *device(void);

/* visible_devices.c: how many of the machine's devices the environment leaves to the process; at its start. */
int visible_devices(int of_machine);
/* The machine's number of a device of the process. */
int machine_device(int ordinal);

/* What identifies a device: it differs from one to the next, and is the same whichever of them are visible. */
hipUUID machine_uuid(int device_of_machine);
#define BUS_OF(ordinal) (machine_device(ordinal) + 1)

enum { MAX_WORKGROUP = 1024 };
enum { DEVICE_HEAP_BYTES = 1 << 28 }; /* of malloc in kernels; address space only, until it is used */

#endif
