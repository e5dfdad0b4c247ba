/* Number formats: bits to value and back. Source: CDNA3 ISA, "Data formats"; OCP FP8 for gfx950. */
#ifndef AMDKERNEL_FORMATS_H
#define AMDKERNEL_FORMATS_H

#include <math.h>
#include <string.h>

#include "emulator.h"

static inline float f32_of(u32 bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline u32 bits_f32(float f) { u32 b; memcpy(&b, &f, 4); return b; }
static inline double f64_of(u64 bits) { double f; memcpy(&f, &bits, 8); return f; }
static inline u64 bits_f64(double f) { u64 b; memcpy(&b, &f, 8); return b; }

static inline float f16_of(u16 bits) { _Float16 h; memcpy(&h, &bits, 2); return (float)h; }
static inline u16 bits_f16(float f) { _Float16 h = (_Float16)f; u16 b; memcpy(&b, &h, 2); return b; }

static inline float bf16_of(u16 bits) { return f32_of((u32)bits << 16); }
static inline u16 bits_bf16(float f)
{
    u32 b = bits_f32(f);
    if (f != f)
        return (u16)(b >> 16 | 0x40);
    return (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

/* The double nearest to a + b, but odd where it is inexact, so that one more rounding is still the right one. */
static inline double add_to_odd(double a, double b)
{
    double s = a + b, back = s - a, error = (a - (s - back)) + (b - back);
    u64 bits = bits_f64(s);
    if (error == 0 || error != error || (bits & 1))
        return s;
    bool away = (error > 0) == (s > 0);
    return f64_of(away ? bits + 1 : bits - 1);
}

/* One rounding from double to half: to an odd float first, which keeps two guard bits. */
static inline u16 bits_f16_of_f64(double d)
{
    float f = (float)d;
    if ((double)f != d && d == d && !isinf(f)) {
        u32 b = bits_f32(f);
        if (!(b & 1))
            f = f32_of(fabs((double)f) < fabs(d) ? b + 1 : b - 1);
    }
    return bits_f16(f);
}
static inline u16 fma_f16(float a, float b, float c)
{
    return bits_f16_of_f64(add_to_odd((double)a * (double)b, c));
}

/* An 8-bit float format. FNUZ: no infinity, no negative zero, 0x80 is the only NaN, the bias is one higher. */
typedef struct { int exponent_bits, mantissa_bits, bias; bool fnuz; } Float8;

static const Float8 FP8_FNUZ = {4, 3, 8, true}, BF8_FNUZ = {5, 2, 16, true};
static const Float8 FP8_OCP = {4, 3, 7, false}, BF8_OCP = {5, 2, 15, false};

static inline float f8_of(u8 bits, Float8 f)
{
    int mantissa = bits & ((1 << f.mantissa_bits) - 1), exponent = bits >> f.mantissa_bits & ((1 << f.exponent_bits) - 1);
    int top = (1 << f.exponent_bits) - 1;
    if (f.fnuz && bits == 0x80)
        return NAN;
    if (!f.fnuz && f.mantissa_bits == 3 && (bits & 0x7f) == 0x7f)
        return NAN;
    if (!f.fnuz && f.mantissa_bits == 2 && exponent == top)
        return mantissa ? NAN : bits & 0x80 ? -INFINITY : INFINITY;
    float x = exponent ? ldexpf((float)(mantissa + (1 << f.mantissa_bits)), exponent - f.bias - f.mantissa_bits)
                       : ldexpf((float)mantissa, 1 - f.bias - f.mantissa_bits);
    return bits & 0x80 ? -x : x;
}

static inline float f8_max(Float8 f)
{
    if (f.mantissa_bits == 3)
        return f.fnuz ? 240.0f : 448.0f;
    return 57344.0f;
}

/* Round to nearest even; too large gives NaN (or infinity where there is one), or the largest value if `saturate`. */
static inline u8 bits_f8(float x, Float8 f, bool saturate)
{
    u8 sign = bits_f32(x) >> 31 ? 0x80 : 0, nan = f.fnuz ? 0x80 : 0x7f;
    if (x != x)
        return f.fnuz ? nan : (u8)(sign | nan);
    double magnitude = fabs((double)x);
    int exponent = magnitude > 0 ? ilogb(magnitude) : -1000;
    if (exponent < 1 - f.bias)
        exponent = 1 - f.bias;
    double step = ldexp(1.0, exponent - f.mantissa_bits);
    double rounded = __builtin_roundeven(magnitude / step) * step;
    if (rounded > f8_max(f)) {
        if (saturate && !isinf(x))
            rounded = f8_max(f);
        else if (f.fnuz)
            return nan;
        else
            return (u8)(sign | (f.mantissa_bits == 2 ? 0x7c : 0x7f));
    }
    if (rounded == 0)
        return f.fnuz ? 0 : sign;
    exponent = ilogb(rounded);
    if (exponent < 1 - f.bias)
        return (u8)(sign | (u8)ldexp(rounded, f.bias - 1 + f.mantissa_bits));
    u32 mantissa = (u32)ldexp(rounded, f.mantissa_bits - exponent) - (1u << f.mantissa_bits);
    return (u8)(sign | (u32)(exponent + f.bias) << f.mantissa_bits | mantissa);
}

#endif
