#include "hip/clock/clock.h"

#include "hip/clock/gpu.h"
#include "hip/runtime/runtime.h"

#include <math.h>

/* As slow as the emulation itself, about: so a second of launches on the clock of the host is one on this clock too. */
static const double LAUNCH_US = 2, INSTRUCTION_US = 0.01, BYTE_US = 1e-5;

typedef enum { NOTHING, LAUNCH, RECORD } Last;

/* Launches of one kernel; its sets of buffers in the order in which they were first seen. */
typedef struct {
    const void *kernel;
    u64 sets[MOST_BUFFER_SETS];
    u32 count;
} Seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Gpu gpu;
static Last last;
static Seen seen[MOST_KERNELS];

static void begin(void) { gpu_begin(&gpu, runtime()->options.clock_seed); }

bool clock_is_simulated(void) { return runtime()->options.simulated_clock; }

static void enter(void)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
}

static void leave(Last now)
{
    last = now;
    pthread_mutex_unlock(&lock);
}

/* Its number; a kernel beyond the last number shares that one. */
static u32 number_of(const void *kernel)
{
    u32 n = 0;
    while (n < MOST_KERNELS - 1 && seen[n].kernel && seen[n].kernel != kernel)
        n++;
    seen[n].kernel = kernel;
    return n;
}

static u32 buffer_set(Seen *s, u64 arguments)
{
    for (u32 i = 0; i < s->count; i++)
        if (s->sets[i] == arguments)
            return i;
    if (s->count == MOST_BUFFER_SETS)
        return (u32)(arguments % MOST_BUFFER_SETS);
    s->sets[s->count] = arguments;
    return s->count++;
}

void clock_launch(const void *kernel, u64 arguments, const u64 *counters, double span_us[2])
{
    u64 bytes = counters[COUNTER_bytes_loaded] + counters[COUNTER_bytes_stored];
    double us = LAUNCH_US + INSTRUCTION_US * (double)counters[COUNTER_SQ_INSTS] + BYTE_US * (double)bytes;
    us *= runtime()->options.clock_scale ? (double)runtime()->options.clock_scale : 1;
    enter();
    if (last == LAUNCH)
        gpu_pass(&gpu, clock_parameters.launch_gap);
    u32 number = number_of(kernel);
    span_us[0] = gpu.now_us;
    gpu_launch(&gpu, us, number, buffer_set(&seen[number], arguments));
    span_us[1] = gpu.now_us;
    leave(LAUNCH);
}

void clock_copy(u64 bytes)
{
    enter();
    if (last == RECORD)
        gpu_pass(&gpu, clock_parameters.host_gap);
    gpu_work(&gpu, BYTE_US * (double)bytes);
    leave(NOTHING);
}

double clock_event_ms(void)
{
    enter();
    if (last != NOTHING)
        gpu_pass(&gpu, last == LAUNCH ? clock_parameters.event_overhead : clock_parameters.host_gap);
    double ms = floor(gpu.now_us / clock_parameters.event_resolution) * clock_parameters.event_resolution / 1e3;
    leave(RECORD);
    return ms;
}
