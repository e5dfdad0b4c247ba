/* One lane's arithmetic where it takes more than an expression. Source: CDNA3 ISA, the pseudocode of each. */
#ifndef AMDKERNEL_LANE_MATH_H
#define AMDKERNEL_LANE_MATH_H

#include <float.h>

#include "machine/formats.h"

#define least(a, b) ((a) < (b) ? (a) : (b))
#define most(a, b) ((a) > (b) ? (a) : (b))

/* ---- saturation and conversion: NaN becomes 0, what is too large the largest value ---- */

LANE_FUNCTION i32 i32_from(double x)
{
    return x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : x == x ? (i32)x : 0;
}
LANE_FUNCTION u32 u32_from(double x) { return x >= 4294967295.0 ? UINT32_MAX : x > 0 ? (u32)(i64)x : 0; }
LANE_FUNCTION u16 u16_from(float x) { return x >= 65535.0f ? 65535 : x > 0 ? (u16)(i32)x : 0; }
LANE_FUNCTION int16_t i16_from(float x)
{
    return x >= 32767.0f ? 32767 : x <= -32768.0f ? -32768 : x == x ? (int16_t)(i32)x : (int16_t)0;
}
LANE_FUNCTION u32 u8_from(float x)
{
    float r = __builtin_roundevenf(x);
    return r >= 255.0f ? 255 : r > 0 ? (u32)(i32)r : 0;
}
LANE_FUNCTION int16_t snorm16(float x) { return x != x ? (int16_t)0 : i16_from(__builtin_roundevenf(most(least(x, 1), -1) * 32767)); }
LANE_FUNCTION u16 unorm16(float x) { return x != x ? (u16)0 : u16_from(__builtin_roundevenf(least(x, 1) * 65535)); }
LANE_FUNCTION u32 saturate_u8(i32 x) { return x < 0 ? 0 : x > 255 ? 255 : (u32)x; }
LANE_FUNCTION u32 saturate_i8(i32 x) { return (u32)(x < -128 ? -128 : x > 127 ? 127 : x) & 255; }
LANE_FUNCTION int16_t saturate_i16(i32 x) { return (int16_t)(x < -32768 ? -32768 : x > 32767 ? 32767 : x); }
LANE_FUNCTION i32 saturate_i32(i64 x) { return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (i32)x; }

/* Whatever the rounding mode, v_cvt_pkrtz rounds to zero: a finite value never becomes infinite. */
LANE_FUNCTION u16 f16_toward_zero(float x)
{
    u16 h = bits_f16(x);
    if (x == x && !isinf(x) && fabsf(f16_of(h)) > fabsf(x))
        h--;
    return h;
}

/* Multiply and add with a rounding each, without denormals whatever MODE says: V_MAD_F32 and its variants on gfx90a. */
LANE_FUNCTION float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
LANE_FUNCTION float mad_f32(float a, float b, float c)
{
    return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}
LANE_FUNCTION float mad_legacy_f32(float a, float b, float c)
{
    a = flushed(a);
    b = flushed(b);
    return a == 0 || b == 0 ? flushed(c) : mad_f32(a, b, c);
}

/* ---- transcendentals of f32: no denormals, whatever MODE says.  LLVM, AMDGPUCodeGenPrepare; ROCm device libraries ---- */

LANE_FUNCTION float exp2_f32(float x) { return flushed(exp2f(flushed(x))); }
LANE_FUNCTION float log2_f32(float x) { return log2f(flushed(x)); }
LANE_FUNCTION float rcp_f32(float x) { return flushed(1 / flushed(x)); }
LANE_FUNCTION float rsq_f32(float x) { return (float)(1 / sqrt((double)flushed(x))); }
LANE_FUNCTION float sqrt_f32(float x) { return __builtin_sqrtf(flushed(x)); }

/* ---- minimum and maximum: a number wins over a NaN, a signalling NaN over a number (IEEE mode), -0 < +0 ---- */

LANE_FUNCTION bool signalling32(float x) { return x != x && !(bits_f32(x) & 0x400000); }
LANE_FUNCTION float quiet32(float x) { return f32_of(bits_f32(x) | 0x400000); }
LANE_FUNCTION float max_f32(float a, float b)
{
    float r = a > b ? a : b;
    r = a == b ? f32_of(bits_f32(a) & bits_f32(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    r = signalling32(b) ? quiet32(b) : r;
    return signalling32(a) ? quiet32(a) : r;
}
LANE_FUNCTION float min_f32(float a, float b)
{
    float r = a < b ? a : b;
    r = a == b ? f32_of(bits_f32(a) | bits_f32(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    r = signalling32(b) ? quiet32(b) : r;
    return signalling32(a) ? quiet32(a) : r;
}
LANE_FUNCTION bool signalling64(double x) { return x != x && !(bits_f64(x) >> 51 & 1); }
LANE_FUNCTION double quiet64(double x) { return f64_of(bits_f64(x) | 1ull << 51); }
LANE_FUNCTION double max_f64(double a, double b)
{
    double r = a > b ? a : b;
    r = a == b ? f64_of(bits_f64(a) & bits_f64(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    r = signalling64(b) ? quiet64(b) : r;
    return signalling64(a) ? quiet64(a) : r;
}
LANE_FUNCTION double min_f64(double a, double b)
{
    double r = a < b ? a : b;
    r = a == b ? f64_of(bits_f64(a) | bits_f64(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    r = signalling64(b) ? quiet64(b) : r;
    return signalling64(a) ? quiet64(a) : r;
}
LANE_FUNCTION float med3_f32(float a, float b, float c)
{
    if (a != a || b != b || c != c)
        return min_f32(min_f32(a, b), c);
    float top = max_f32(max_f32(a, b), c);
    return top == a ? max_f32(b, c) : top == b ? max_f32(a, c) : max_f32(a, b);
}

/* ---- minimum and maximum of IEEE 754-2019: as above, but no NaN, or any NaN, wins over a number ---- */

LANE_FUNCTION float min_number(float a, float b)
{
    float r = a < b ? a : b;
    r = a == b ? f32_of(bits_f32(a) | bits_f32(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return a != a && b != b ? quiet32(a) : r;
}
LANE_FUNCTION float max_number(float a, float b)
{
    float r = a > b ? a : b;
    r = a == b ? f32_of(bits_f32(a) & bits_f32(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return a != a && b != b ? quiet32(a) : r;
}
LANE_FUNCTION float med_number(float a, float b, float c)
{
    if (a != a || b != b || c != c)
        return min_number(min_number(a, b), c);
    float top = max_number(max_number(a, b), c);
    return top == a ? max_number(b, c) : top == b ? max_number(a, c) : max_number(a, b);
}
LANE_FUNCTION double min_number64(double a, double b)
{
    double r = a < b ? a : b;
    r = a == b ? f64_of(bits_f64(a) | bits_f64(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return a != a && b != b ? quiet64(a) : r;
}
LANE_FUNCTION double max_number64(double a, double b)
{
    double r = a > b ? a : b;
    r = a == b ? f64_of(bits_f64(a) & bits_f64(b)) : r;
    r = b != b ? a : r;
    r = a != a ? b : r;
    return a != a && b != b ? quiet64(a) : r;
}

/* A signalling NaN is looked for first. */
LANE_FUNCTION float either_nan(float a, float b)
{
    return quiet32(signalling32(a) ? a : signalling32(b) ? b : a != a ? a : b);
}
LANE_FUNCTION float minimum_f32(float a, float b) { return a != a || b != b ? either_nan(a, b) : min_number(a, b); }
LANE_FUNCTION float maximum_f32(float a, float b) { return a != a || b != b ? either_nan(a, b) : max_number(a, b); }
LANE_FUNCTION double either_nan64(double a, double b)
{
    return quiet64(signalling64(a) ? a : signalling64(b) ? b : a != a ? a : b);
}
LANE_FUNCTION double minimum_f64(double a, double b) { return a != a || b != b ? either_nan64(a, b) : min_number64(a, b); }
LANE_FUNCTION double maximum_f64(double a, double b) { return a != a || b != b ? either_nan64(a, b) : max_number64(a, b); }

/* ---- parts of a number ---- */

LANE_FUNCTION float fract_f32(float x) { float r = x - floorf(x); return r >= 1 ? 0x1.fffffep-1f : r; }
LANE_FUNCTION double fract_f64(double x) { double r = x - floor(x); return r >= 1 ? 0x1.fffffffffffffp-1 : r; }
LANE_FUNCTION float fract_f16(float x) { float r = x - floorf(x); return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r; }
LANE_FUNCTION i32 exponent_of(double x)
{
    int e = 0;
    if (x == x && !isinf(x))
        (void)frexp(x, &e);
    return e;
}
LANE_FUNCTION double mantissa_of(double x) { int e; return x == x && !isinf(x) ? frexp(x, &e) : x; }
/* x * 2^n, rounded once, of an x that comes from f32: in double nothing is lost on the way. */
LANE_FUNCTION float scaled_f32(double x, i32 n)
{
    i32 enough = n < -500 ? -500 : n > 500 ? 500 : n;
    return (float)(x * f64_of((u64)(1023 + enough) << 52));
}
LANE_FUNCTION int limited(i32 exponent) { return exponent < -5000 ? -5000 : exponent > 5000 ? 5000 : exponent; }

/* ---- circular functions of an angle in turns, exact at quarters ---- */

LANE_FUNCTION double quarter_turns(double x, double *sine, double *cosine)
{
    double t = x - rint(x), q = rint(4 * t), angle = (t - q / 4) * 6.283185307179586477;
    *sine = sin(angle);
    *cosine = cos(angle);
    return q;
}
LANE_FUNCTION double sin_turns(double x)
{
    double s, c, q = quarter_turns(x, &s, &c);
    return q == 0 ? s : q == 1 ? c : q == -1 ? -c : q == q ? -s : q;
}
LANE_FUNCTION double cos_turns(double x)
{
    double s, c, q = quarter_turns(x, &s, &c);
    return q == 0 ? c : q == 1 ? -s : q == -1 ? s : q == q ? -c : q;
}

/* ---- the steps of a division that are not fused multiply-adds: a is the quotient, b the divisor, c the dividend ---- */

LANE_FUNCTION int exponent32(float x) { return (int)(bits_f32(x) >> 23 & 255); }
LANE_FUNCTION int exponent64(double x) { return (int)(bits_f64(x) >> 52 & 2047); }

LANE_FUNCTION double div_fixup(double a, double b, double c, bool tiny)
{
    bool negative = signbit(b) != signbit(c);
    double r;
    if (c != c || b != b)
        return c != c ? quiet64(c) : quiet64(b);
    if ((b == 0 && c == 0) || (isinf(b) && isinf(c)))
        return f64_of(0xfff8000000000000ull);
    if (b == 0 || isinf(c))
        r = INFINITY;
    else if (isinf(b) || c == 0 || tiny)
        r = 0;
    else
        r = a == a ? fabs(a) : INFINITY; /* the quotient of two numbers was lost on the way: it is too large */
    return negative ? -r : r;
}
LANE_FUNCTION float div_fixup_f32(float a, float b, float c)
{
    return (float)div_fixup(a, b, c, exponent32(c) - exponent32(b) < -150);
}
LANE_FUNCTION float div_fixup_f16(float a, float b, float c)
{
    bool special = b != b || c != c || b == 0 || c == 0 || isinf(b) || isinf(c);
    return a != a && !special ? a : (float)div_fixup(a, b, c, false);
}
LANE_FUNCTION double div_fixup_f64(double a, double b, double c)
{
    return div_fixup(a, b, c, exponent64(c) - exponent64(b) < -1075);
}

/* ---- cube maps ---- */

LANE_FUNCTION float cube_face(float x, float y, float z)
{
    if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
        return z < 0 ? 5 : 4;
    if (fabsf(y) >= fabsf(x))
        return y < 0 ? 3 : 2;
    return x < 0 ? 1 : 0;
}
LANE_FUNCTION float cube_s(float x, float y, float z)
{
    float face = cube_face(x, y, z);
    return face == 5 ? -x : face >= 2 ? x : face == 1 ? z : -z;
}
LANE_FUNCTION float cube_t(float x, float y, float z)
{
    float face = cube_face(x, y, z);
    return face == 3 ? -z : face == 2 ? z : -y;
}
LANE_FUNCTION float cube_major(float x, float y, float z)
{
    float face = cube_face(x, y, z);
    return 2 * (face >= 4 ? z : face >= 2 ? y : x);
}

/* ---- integers ---- */

LANE_FUNCTION i32 sext24(u32 x) { return (i32)(x << 8) >> 8; }
LANE_FUNCTION u32 plus(u32 a, u32 b, bool clamp) { return clamp && a + b < a ? ~0u : a + b; }
LANE_FUNCTION u32 gap(u32 a, u32 b) { return a > b ? a - b : b - a; }
LANE_FUNCTION u32 mad_i24(u32 a, u32 b, u32 c, bool clamp)
{
    i64 r = (i64)sext24(a) * sext24(b) + (i32)c;
    return clamp ? (u32)saturate_i32(r) : (u32)r;
}
LANE_FUNCTION u32 mad_u24(u32 a, u32 b, u32 c, bool clamp)
{
    u64 r = (u64)(a & 0xffffff) * (b & 0xffffff) + c;
    return clamp && r > UINT32_MAX ? UINT32_MAX : (u32)r;
}
LANE_FUNCTION u16 mad_u16(u32 a, u32 b, u32 c, bool clamp)
{
    u64 r = (u64)a * b + c;
    return clamp && r > 65535 ? 65535 : (u16)r;
}
LANE_FUNCTION u32 first_opposite(u32 x)
{
    u32 differing = x ^ (u32)((i32)x >> 31);
    return differing ? (u32)__builtin_clz(differing) : ~0u;
}
LANE_FUNCTION i32 field_i32(i32 x, u32 offset, u32 width)
{
    if (!width)
        return 0;
    if (offset + width > 32)
        return x >> offset;
    return (i32)((u32)x << (32 - offset - width)) >> (32 - width);
}

/* One byte of the eight of `high` and `low`, or the sign or constant that a selector from 8 on means. */
LANE_FUNCTION u32 selected_byte(u32 high, u32 low, u32 selector)
{
    u32 byte = (selector & 4 ? high : low) >> 8 * (selector & 3) & 255;
    u32 sign = (selector & 2 ? high : low) >> (selector & 1 ? 31 : 15) & 1 ? 255 : 0;
    u32 fixed = selector == 12 ? 0 : 255;
    return selector < 8 ? byte : selector < 12 ? sign : fixed;
}
LANE_FUNCTION u32 permute_bytes(u32 high, u32 low, u32 selectors)
{
    return selected_byte(high, low, selectors & 255) | selected_byte(high, low, selectors >> 8 & 255) << 8 |
           selected_byte(high, low, selectors >> 16 & 255) << 16 | selected_byte(high, low, selectors >> 24) << 24;
}

/* Sum of the distances of four bytes; `masked`: a zero byte in `a` does not count. */
LANE_FUNCTION u32 sad_bytes(u32 a, u32 b, bool masked)
{
    u32 sum = 0;
    for (int k = 0; k < 32; k += 8) {
        u32 x = a >> k & 255, y = b >> k & 255;
        sum += masked && !x ? 0 : gap(x, y);
    }
    return sum;
}
LANE_FUNCTION u64 qsad(u64 a, u32 b, u64 c, bool masked, bool clamp)
{
    u64 r = 0;
    for (int k = 0; k < 4; k++) {
        u32 window = (u32)(a >> 8 * k), sum = (u32)(c >> 16 * k & 65535);
        sum += masked ? sad_bytes(b, window, true) : sad_bytes(window, b, false);
        r |= (u64)(clamp && sum > 65535 ? 65535 : sum & 65535) << 16 * k;
    }
    return r;
}
LANE_FUNCTION u32 lerp_bytes(u32 a, u32 b, u32 c)
{
    u32 r = 0;
    for (int k = 0; k < 32; k += 8)
        r |= ((a >> k & 255) + (b >> k & 255) + (c >> k & 1)) >> 1 << k;
    return r;
}

#endif
