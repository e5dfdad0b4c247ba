/* One GPU of the simulated clock: its history, and how long work takes on it. As SimulatedGpu of
 * amdkernel_mcp/measurement/timing/simulated_clock.py, which a test compares it with. */
#ifndef AMDKERNEL_HIP_CLOCK_GPU_H
#define AMDKERNEL_HIP_CLOCK_GPU_H

#include "emulator.h"

enum { WAVES = 6, MOST_CHANGES = 1024, MOST_KERNELS = 8, MOST_BUFFER_SETS = 64 };

typedef struct {
#define P(name, value) double name;
#include "hip/clock/parameters.def"
#undef P
} Parameters;

extern const Parameters clock_parameters;

typedef struct {
    u64 seed;
    double now_us, ramp_us, warm_us;
    u64 launches;
    double angular[WAVES], phases[WAVES];
    u32 steps, bursts;
    double step_at_us[MOST_CHANGES], levels[MOST_CHANGES + 1];
    double burst_at_us[MOST_CHANGES], burst_end_us[MOST_CHANGES], burst_slowdown[MOST_CHANGES];
} Gpu;

void gpu_begin(Gpu *g, u64 seed);
void gpu_pass(Gpu *g, double us);          /* time at work that is given as it is */
void gpu_work(Gpu *g, double us);          /* work of that duration at the full clock */
void gpu_launch(Gpu *g, double us, u32 kernel, u32 buffer_set);

#endif
