/* How many work-items of a kernel are launched, in which workgroups. */
#ifndef AMDKERNEL_HIP_LAUNCH_SHAPE_H
#define AMDKERNEL_HIP_LAUNCH_SHAPE_H

#include "hip/code/function.h"

typedef struct {
    u32 grid[3]; /* work-items */
    u32 block[3];
    u32 dynamic_lds_bytes;
    bool cooperative; /* all workgroups are resident at once, and may synchronise */
} LaunchShape;

/* The shape of a grid that is given in workgroups. */
hipError_t launch_shape(dim3 blocks, dim3 block, size_t dynamic_lds_bytes, LaunchShape *out);
/* The work-items of a workgroup, and the workgroups of the grid. */
u64 launch_shape_items(const LaunchShape *s);
u64 launch_shape_workgroups(const LaunchShape *s);

#endif
