/* Launching kernels. */
#ifndef AMDKERNEL_HIP_LAUNCH_H
#define AMDKERNEL_HIP_LAUNCH_H

#include "hip/launch/launch_shape.h"
#include "hip/runtime/runtime.h"

/* `parameters` are pointers to the values, or `extra` is a buffer of them; one of the two is NULL. They are read when the
 * launch begins. launch_continue() runs it for up to so many seconds, without limit below 0. True: it has ended, and the
 * Launch is freed. A fault of the kernel is not returned here but latched (runtime/fault.h). */
typedef struct Launch Launch;
hipError_t launch_begin(Function *f, const LaunchShape *shape, void **parameters, void **extra, Launch **out);
bool launch_continue(Launch *l, double patience_s);
/* The checks of a launch alone. */
hipError_t launch_check(const Function *f, const LaunchShape *shape, void **parameters, void **extra);
/* One kernel on each of several devices at once; they may synchronise with each other. */
typedef struct { Function *function; LaunchShape shape; void **parameters; } GridOfMany;
hipError_t launch_together(const GridOfMany *grids, u32 count);

#endif
