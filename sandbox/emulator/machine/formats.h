/* Number formats: bits to value and back. Source: CDNA3 ISA, "Data formats"; OCP FP8 and MX for gfx950. */
#ifndef AMDKERNEL_FORMATS_H
#define AMDKERNEL_FORMATS_H

#include <math.h>
#include <string.h>

#include "emulator.h"

/* What the loops of bodies call: inlined into each, and vectorised with it. */
#define LANE_FUNCTION static inline __attribute__((always_inline))

static inline float f32_of(u32 bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline u32 bits_f32(float f) { u32 b; memcpy(&b, &f, 4); return b; }
static inline double f64_of(u64 bits) { double f; memcpy(&f, &bits, 8); return f; }
static inline u64 bits_f64(double f) { u64 b; memcpy(&b, &f, 8); return b; }

static inline float f16_of(u16 bits) { _Float16 h; memcpy(&h, &bits, 2); return (float)h; }
static inline u16 bits_f16(float f) { _Float16 h = (_Float16)f; u16 b; memcpy(&b, &h, 2); return b; }

static inline float f16_or_zero(u16 bits) { return bits & 0x7c00 ? f16_of(bits) : bits & 0x8000 ? -0.0f : 0.0f; }

static inline float bf16_of(u16 bits) { return f32_of((u32)bits << 16); }
LANE_FUNCTION u16 bits_bf16(float f)
{
    u32 b = bits_f32(f);
    if (f != f)
        return (u16)(b >> 16 | 0x40);
    return (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

/* The double nearest to a + b, but odd where it is inexact, so that one more rounding is still the right one. */
LANE_FUNCTION double add_to_odd(double a, double b)
{
    double s = a + b, back = s - a, error = (a - (s - back)) + (b - back);
    u64 bits = bits_f64(s);
    if (error == 0 || error != error || (bits & 1))
        return s;
    bool away = (error > 0) == (s > 0);
    return f64_of(away ? bits + 1 : bits - 1);
}

/* One rounding from double to half: to an odd float first, which keeps two guard bits. */
LANE_FUNCTION u16 bits_f16_of_f64(double d)
{
    float f = (float)d;
    if ((double)f != d && d == d && !isinf(f)) {
        u32 b = bits_f32(f);
        if (!(b & 1))
            f = f32_of(fabs((double)f) < fabs(d) ? b + 1 : b - 1);
    }
    return bits_f16(f);
}
LANE_FUNCTION u16 fma_f16(float a, float b, float c)
{
    return bits_f16_of_f64(add_to_odd((double)a * (double)b, c));
}

/*
 * A float of at most eight bits. FNUZ: no infinity, no negative zero, sign alone is the only NaN, the bias is one higher.
 * FINITE (the six- and four-bit ones): neither infinity nor NaN. Source: OCP Microscaling Formats 1.0, section 5.3.
 */
typedef enum { IEEE_LIKE, FNUZ, FINITE } SmallKind;
typedef struct { int exponent_bits, mantissa_bits, bias; SmallKind kind; } Float8;

static const Float8 FP8_FNUZ = {4, 3, 8, FNUZ}, BF8_FNUZ = {5, 2, 16, FNUZ};
static const Float8 FP8_OCP = {4, 3, 7, IEEE_LIKE}, BF8_OCP = {5, 2, 15, IEEE_LIKE};
static const Float8 FP6 = {2, 3, 1, FINITE}, BF6 = {3, 2, 3, FINITE}, FP4 = {2, 1, 1, FINITE};

static inline int f8_width(Float8 f) { return 1 + f.exponent_bits + f.mantissa_bits; }

static inline float f8_of(u8 bits, Float8 f)
{
    int mantissa = bits & ((1 << f.mantissa_bits) - 1), exponent = bits >> f.mantissa_bits & ((1 << f.exponent_bits) - 1);
    int top = (1 << f.exponent_bits) - 1;
    bool negative = bits >> (f8_width(f) - 1) & 1;
    if (f.kind == FNUZ && bits == 0x80)
        return NAN;
    if (f.kind == IEEE_LIKE && f.mantissa_bits == 3 && (bits & 0x7f) == 0x7f)
        return NAN;
    if (f.kind == IEEE_LIKE && f.mantissa_bits == 2 && exponent == top)
        return mantissa ? NAN : negative ? -INFINITY : INFINITY;
    float x = exponent ? ldexpf((float)(mantissa + (1 << f.mantissa_bits)), exponent - f.bias - f.mantissa_bits)
                       : ldexpf((float)mantissa, 1 - f.bias - f.mantissa_bits);
    return negative ? -x : x;
}

static inline double f8_max(Float8 f)
{
    int top = (1 << f.exponent_bits) - 1 - f.bias;
    if (f.kind != IEEE_LIKE)
        return ldexp(2 - ldexp(1, -f.mantissa_bits), top);
    return f.mantissa_bits == 3 ? 448 : 57344;
}

/* How an inexact value is rounded: to nearest even, or up when its lost part and `random` / 2^32 make a whole. */
typedef struct { bool stochastic; u32 random; } Rounding;
static const Rounding TO_NEAREST = {false, 0};

static inline double round_steps(double steps, Rounding how)
{
    if (!how.stochastic)
        return __builtin_roundeven(steps);
    double whole = __builtin_trunc(steps);
    return whole + (steps - whole + ldexp(how.random, -32) >= 1);
}

static inline u8 f8_too_large(u8 sign, Float8 f, bool infinite, bool saturate)
{
    u8 largest = (u8)(sign | ((1u << (f8_width(f) - 1)) - 1));
    if (f.kind == FINITE)
        return largest;
    if (!saturate || infinite)
        return f.kind == FNUZ ? 0x80 : (u8)(sign | (f.mantissa_bits == 2 ? 0x7c : 0x7f));
    return f.kind == FNUZ ? largest : (u8)(largest - (f.mantissa_bits == 2 ? 4 : 1));
}

/* Too large gives NaN (or infinity where there is one), or the largest value if `saturate`. A NaN must have a place. */
static inline u8 round_f8(double x, Float8 f, bool saturate, Rounding how)
{
    u8 sign = (u8)((bits_f64(x) >> 63) << (f8_width(f) - 1));
    if (x != x)
        return f.kind == FNUZ ? 0x80 : (u8)(sign | 0x7f);
    double magnitude = fabs(x);
    if (isinf(x))
        return f8_too_large(sign, f, true, saturate);
    int exponent = magnitude > 0 ? ilogb(magnitude) : -5000;
    if (exponent < 1 - f.bias)
        exponent = 1 - f.bias;
    double rounded = ldexp(round_steps(ldexp(magnitude, f.mantissa_bits - exponent), how), exponent - f.mantissa_bits);
    if (rounded > f8_max(f))
        return f8_too_large(sign, f, false, saturate);
    if (rounded == 0)
        return f.kind == FNUZ ? 0 : sign;
    exponent = ilogb(rounded);
    if (exponent < 1 - f.bias)
        return (u8)(sign | (u8)ldexp(rounded, f.bias - 1 + f.mantissa_bits));
    u32 mantissa = (u32)ldexp(rounded, f.mantissa_bits - exponent) - (1u << f.mantissa_bits);
    return (u8)(sign | (u32)(exponent + f.bias) << f.mantissa_bits | mantissa);
}

static inline u8 bits_f8(float x, Float8 f, bool saturate) { return round_f8(x, f, saturate, TO_NEAREST); }

/* 2^(bits - 127), or NaN: the scale of a block. Source: OCP Microscaling Formats 1.0, section 5.4.1. */
static inline double e8m0_of(u8 bits) { return bits == 255 ? NAN : ldexp(1, bits - 127); }

#endif
