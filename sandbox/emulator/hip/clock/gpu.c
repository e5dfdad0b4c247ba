#include "hip/clock/gpu.h"

#include <math.h>
#include <string.h>

#include "hip/clock/draws.h"

const Parameters clock_parameters = {
#define P(name, value) .name = value,
#include "hip/clock/parameters.def"
#undef P
};

static const Parameters *const p = &clock_parameters;
static const double HORIZON_US = 120e6; /* nothing changes later */

static double between(double low, double high, double share) { return low + (high - low) * share; }

/* The moments of a process of so many events per second. */
static u32 moments(u64 seed, Sequence gaps, double per_second, double *at_us)
{
    double at = 0;
    for (u32 i = 0; per_second > 0 && i < MOST_CHANGES; i++) {
        at += draw_exponential(seed, gaps, i) / per_second * 1e6;
        if (at >= HORIZON_US)
            return i;
        at_us[i] = at;
    }
    return per_second > 0 ? MOST_CHANGES : 0;
}

void gpu_begin(Gpu *g, u64 seed)
{
    memset(g, 0, sizeof *g);
    g->seed = seed;
    g->ramp_us = 1e3 * between(p->ramp_shortest, p->ramp_longest, draw_uniform(seed, DRAW_RAMP, 0));
    for (u32 i = 0; i < WAVES; i++) {
        double share = draw_uniform(seed, DRAW_PERIOD, i);
        double period_us = 1e6 * exp(between(log(p->drift_shortest_period), log(p->drift_longest_period), share));
        g->angular[i] = 2 * M_PI / period_us;
        g->phases[i] = 2 * M_PI * draw_uniform(seed, DRAW_PHASE, i);
    }
    g->steps = moments(seed, DRAW_STEP_GAP, p->thermal_steps, g->step_at_us);
    for (u32 i = 0; i <= g->steps; i++)
        g->levels[i] = p->thermal_step_size * draw_normal(seed, DRAW_LEVEL, i);
    g->bursts = moments(seed, DRAW_BURST_GAP, p->neighbour_bursts, g->burst_at_us);
    for (u32 i = 0; i < g->bursts; i++) {
        g->burst_end_us[i] = g->burst_at_us[i] + 1e3 * p->neighbour_length * draw_exponential(seed, DRAW_BURST_LENGTH, i);
        g->burst_slowdown[i] = p->neighbour_slowdown * draw_exponential(seed, DRAW_BURST_SLOWDOWN, i);
    }
}

/* How many of these moments, which increase, are before `us`. */
static u32 before(const double *moments_us, u32 count, double us)
{
    u32 n = 0;
    while (n < count && moments_us[n] < us)
        n++;
    return n;
}

/* Drift, thermal level and neighbour at that time, as a factor of the time. */
static double slowdown(const Gpu *g, double at_us)
{
    double waves = 0;
    for (u32 i = 0; i < WAVES; i++)
        waves += sin(at_us * g->angular[i] + g->phases[i]);
    double factor = exp(p->drift * sqrt(2.0 / WAVES) * waves + g->levels[before(g->step_at_us, g->steps, at_us)]);
    u32 begun = before(g->burst_at_us, g->bursts, at_us);
    return begun && at_us < g->burst_end_us[begun - 1] ? factor * (1 + g->burst_slowdown[begun - 1]) : factor;
}

/* When that work is done, from now on, on a clock that rises in a straight line and then stays. */
static double ramped(const Gpu *g, double work_us)
{
    double low = p->idle_clock + (1 - p->idle_clock) * g->warm_us / g->ramp_us;
    double left_us = g->ramp_us - g->warm_us;
    if (low >= 1 || left_us <= 0)
        return work_us;
    double slope = (1 - low) / left_us;
    double rising_us = (sqrt(low * low + 2 * slope * work_us) - low) / slope;
    return rising_us < left_us ? rising_us : left_us + work_us - (1 + low) / 2 * left_us;
}

void gpu_pass(Gpu *g, double us)
{
    g->now_us += us;
    g->warm_us = fmin(g->ramp_us, g->warm_us + us);
}

void gpu_work(Gpu *g, double us) { gpu_pass(g, ramped(g, us) * slowdown(g, g->now_us)); }

void gpu_launch(Gpu *g, double us, u32 kernel, u32 buffer_set)
{
    u64 n = g->launches++;
    double factor = exp(p->jitter * draw_normal(g->seed, DRAW_JITTER, n));
    if (draw_uniform(g->seed, DRAW_TAIL, n) < p->tail_probability) {
        double longer = 1 + p->tail_scale * (1 + draw_pareto(g->seed, DRAW_TAIL_LENGTH, n, p->tail_exponent));
        factor *= fmin(longer, p->tail_longest);
    }
    u64 place = kernel % MOST_KERNELS * MOST_BUFFER_SETS + buffer_set % MOST_BUFFER_SETS;
    gpu_work(g, us * factor * (1 + p->placement * draw_normal(g->seed, DRAW_PLACEMENT, place)));
}
