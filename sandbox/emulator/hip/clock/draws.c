/* Source of the mixing function: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (SplitMix64). */
#include "hip/clock/draws.h"

#include <math.h>

static const u64 GOLDEN = 0x9E3779B97F4A7C15;

static u64 mix(u64 x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

double draw_uniform(u64 seed, Sequence sequence, u64 index)
{
    u64 bits = mix(mix(seed + GOLDEN * ((u64)sequence + 1)) + GOLDEN * (index + 1)) >> 11;
    return ((double)bits + 0.5) * 0x1p-53;
}

/* Box and Muller's method. */
double draw_normal(u64 seed, Sequence sequence, u64 index)
{
    double length = sqrt(-2 * log(draw_uniform(seed, sequence, 2 * index)));
    return length * cos(2 * M_PI * draw_uniform(seed, sequence, 2 * index + 1));
}

double draw_exponential(u64 seed, Sequence sequence, u64 index) { return -log(draw_uniform(seed, sequence, index)); }

double draw_pareto(u64 seed, Sequence sequence, u64 index, double exponent)
{
    return exp(draw_exponential(seed, sequence, index) / exponent) - 1;
}
