/*
 * Event times of a simulated GPU, with the option `clock=simulated`: test equipment for code that times kernels on a GPU.
 * The time of a launch is a simple function of what it executed, with the noise of a GPU. It does not estimate a time.
 */
#ifndef AMDKERNEL_HIP_CLOCK_H
#define AMDKERNEL_HIP_CLOCK_H

#include "emulator.h"

bool clock_is_simulated(void);
/* What the device did. `kernel` and `arguments` stand for the code and its buffers: where both lie has a small effect.
 * `span_us`: when it began and ended, as a profiler would see it. */
void clock_launch(const void *kernel, u64 arguments, const u64 *counters, double span_us[2]);
void clock_copy(u64 bytes);
/* An event is recorded: its time in ms, in whole ticks. */
double clock_event_ms(void);

#endif
