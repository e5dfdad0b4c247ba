/*
 * What random programs are made of: operations that C defines for every operand, so that host and GPU must agree to the
 * bit. Signed numbers wrap through unsigned ones, quotients and conversions are guarded, a NaN is only ever looked at as
 * one: its sign and payload are not compared.
 */
#pragma once
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64;
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef _Float16 f16; typedef __bf16 bf16; typedef float f32; typedef double f64;
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef u8 u8x4 __attribute__((ext_vector_type(4)));

#define OP template <class T> __host__ __device__ __attribute__((always_inline)) inline
#define FN __host__ __device__ __attribute__((always_inline)) inline

template <class T> constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T> constexpr int bits_of = 8 * (int)sizeof(T);
template <class T> constexpr T most = (T)(std::is_signed_v<T> ? ((u64)1 << (bits_of<T> - 1)) - 1 : ~(u64)0);
template <class T> constexpr T least = (T)~most<T>;
/* Unsigned and wide enough that nothing is promoted to a signed number behind our back. */
template <class T> using Wrapping = std::conditional_t<sizeof(T) == 8, u64, u32>;
/* Half precision that C rounds once an operation: the operation in float, then the rounding. */
template <class T> using Wider = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

/* ---- both kinds of numbers ---- */

OP T add(T a, T b)
{
    if constexpr (is_float<T>) return (T)((Wider<T>)a + (Wider<T>)b);
    else return (T)((Wrapping<T>)a + (Wrapping<T>)b);
}
OP T sub(T a, T b)
{
    if constexpr (is_float<T>) return (T)((Wider<T>)a - (Wider<T>)b);
    else return (T)((Wrapping<T>)a - (Wrapping<T>)b);
}
OP T mul(T a, T b)
{
    if constexpr (is_float<T>) return (T)((Wider<T>)a * (Wider<T>)b);
    else return (T)((Wrapping<T>)a * (Wrapping<T>)b);
}
OP T neg(T a)
{
    if constexpr (is_float<T>) return -a;
    else return (T)(0 - (Wrapping<T>)a);
}
/* Compilers take these for minimum and maximum, which may give either of two zeros: adding one makes its sign certain. */
OP T sure(T a)
{
    if constexpr (is_float<T>) return add(a, (T)0);
    else return a;
}
OP T lesser(T a, T b) { return sure(a < b ? a : b); }
OP T greater(T a, T b) { return sure(b < a ? a : b); }
OP T middle(T a, T b, T c) { return greater(lesser(a, b), lesser(greater(a, b), c)); }
OP T quotient(T a, T b)
{
    if constexpr (is_float<T>) return (T)((Wider<T>)a / (Wider<T>)b);
    else if (b == 0) return a;
    else if (std::is_signed_v<T> && b == (T)-1) return neg(a);
    else return (T)(a / b);
}
OP T multiply_add(T a, T b, T c) { return add(mul(a, b), c); }

/* ---- whole numbers ---- */

OP T remainder_of(T a, T b) { return b == 0 ? a : std::is_signed_v<T> && b == (T)-1 ? (T)0 : (T)(a % b); }
OP T bit_and(T a, T b) { return (T)(a & b); }
OP T bit_or(T a, T b) { return (T)(a | b); }
OP T bit_xor(T a, T b) { return (T)(a ^ b); }
OP T bit_not(T a) { return (T)~a; }
OP T choose_bits(T a, T b, T c) { return (T)((a & b) | (~a & c)); }
OP T shift_left(T a, T b) { return (T)((Wrapping<T>)a << ((u32)b & (bits_of<T> - 1))); }
OP T shift_right(T a, T b) { return (T)(a >> ((u32)b & (bits_of<T> - 1))); }
OP T rotate_left(T a, T b)
{
    typedef std::make_unsigned_t<T> U;
    u32 n = (u32)b & (bits_of<T> - 1);
    return (T)(U)(((Wrapping<U>)(U)a << n) | ((U)a >> ((bits_of<T> - n) & (bits_of<T> - 1))));
}
OP T magnitude(T a)
{
    if constexpr (is_float<T>) return (T)__builtin_fabs((f64)a);
    else return a < 0 ? neg(a) : a;
}
/* Compilers make one instruction of each of these, or of their like in wider expressions. */
FN u64 wide_multiply_add(u32 a, u32 b, u64 c) { return (u64)a * b + c; }
FN i64 signed_wide_multiply_add(i32 a, i32 b, i64 c) { return (i64)((u64)((i64)a * b) + (u64)c); }
OP T same_signs(T a)
{
    typedef std::make_signed_t<T> S;
    T differing = (T)(a ^ (T)((S)a >> (bits_of<T> - 1)));
    return (T)(differing ? __builtin_clzll((u64)(std::make_unsigned_t<T>)differing) - (64 - bits_of<T>) - 1 : bits_of<T> - 1);
}
OP T population(T a) { return (T)__builtin_popcountll((u64)(std::make_unsigned_t<T>)a); }
OP T leading_zeros(T a)
{
    u64 x = (std::make_unsigned_t<T>)a;
    return (T)(x ? __builtin_clzll(x) - (64 - bits_of<T>) : bits_of<T>);
}
OP T trailing_zeros(T a) { return (T)(a ? __builtin_ctzll((u64)a) : bits_of<T>); }
OP T reversed(T a)
{
    if constexpr (sizeof(T) == 1) return (T)__builtin_bitreverse8((u8)a);
    else if constexpr (sizeof(T) == 2) return (T)__builtin_bitreverse16((u16)a);
    else if constexpr (sizeof(T) == 4) return (T)__builtin_bitreverse32((u32)a);
    else return (T)__builtin_bitreverse64((u64)a);
}
OP T bytes_swapped(T a)
{
    if constexpr (sizeof(T) == 1) return a;
    else if constexpr (sizeof(T) == 2) return (T)__builtin_bswap16((u16)a);
    else if constexpr (sizeof(T) == 4) return (T)__builtin_bswap32((u32)a);
    else return (T)__builtin_bswap64((u64)a);
}
OP T add_saturating(T a, T b) { return __builtin_elementwise_add_sat(a, b); }
OP T sub_saturating(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }
OP T distance(T a, T b) { return a < b ? sub(b, a) : sub(a, b); }
OP T high_product(T a, T b)
{
    if constexpr (sizeof(T) < 8) return (T)(((std::is_signed_v<T> ? (u64)(i64)a * (u64)(i64)b : (u64)a * (u64)b)) >> bits_of<T>);
    else if constexpr (std::is_signed_v<T>) return (T)(((__int128)a * b) >> 64);
    else return (T)(((unsigned __int128)a * b) >> 64);
}
OP T field(T a, T b, T c)
{
    typedef std::make_unsigned_t<T> U;
    u32 from = (u32)b & (bits_of<T> - 1), width = (u32)c & (bits_of<T> - 1);
    return (T)(((U)a >> from) & (U)(((u64)1 << width) - 1));
}
OP T carried(T a, T b, T c)
{
    T sum = add(a, b);
    return add(sum, (T)((std::make_unsigned_t<T>)sum < (std::make_unsigned_t<T>)a ? c : (T)1));
}

/* ---- floating point; what it computes is exact or rounded once, as IEEE 754 says ---- */

OP T rounded_down(T a)
{
    if constexpr (std::is_same_v<T, f64>) return __builtin_floor(a);
    else return (T)__builtin_floorf((f32)a);
}
OP T truncated(T a)
{
    if constexpr (std::is_same_v<T, f64>) return __builtin_trunc(a);
    else return (T)__builtin_truncf((f32)a);
}
OP T rounded_up(T a)
{
    if constexpr (std::is_same_v<T, f64>) return __builtin_ceil(a);
    else return (T)__builtin_ceilf((f32)a);
}
OP T rounded_even(T a)
{
    if constexpr (std::is_same_v<T, f64>) return __builtin_rint(a);
    else return (T)__builtin_rintf((f32)a);
}
OP T root(T a)
{
    if constexpr (std::is_same_v<T, f64>) return __builtin_sqrt(a);
    else return (T)__builtin_sqrtf((f32)a);
}
OP T fused(T a, T b, T c)
{
    if constexpr (std::is_same_v<T, f64>) return __builtin_fma(a, b, c);
    else if constexpr (std::is_same_v<T, f32>) return __builtin_fmaf(a, b, c);
#ifdef __HIP_DEVICE_COMPILE__
    else if constexpr (std::is_same_v<T, f16>) return __builtin_fmaf16(a, b, c);
    else return (T)__builtin_fmaf((f32)a, (f32)b, (f32)c);
#else
    else if constexpr (std::is_same_v<T, f16>) return (f16)((__float128)a * (__float128)b + (__float128)c);
    else return (T)__builtin_fmaf((f32)a, (f32)b, (f32)c);
#endif
}
OP T with_sign(T a, T b)
{
    if (b != b) return a;
    if constexpr (std::is_same_v<T, f64>) return __builtin_copysign(a, b);
    else return (T)__builtin_copysignf((f32)a, (f32)b);
}
OP T number_min(T a, T b)
{
    if (a != a || b != b) return a;
    if constexpr (std::is_same_v<T, f64>) return sure(__builtin_fmin(a, b));
    else if constexpr (std::is_same_v<T, f16>) return sure(__builtin_fminf16(a, b));
    else return sure((T)__builtin_fminf((f32)a, (f32)b));
}
OP T number_max(T a, T b)
{
    if (a != a || b != b) return a;
    if constexpr (std::is_same_v<T, f64>) return sure(__builtin_fmax(a, b));
    else if constexpr (std::is_same_v<T, f16>) return sure(__builtin_fmaxf16(a, b));
    else return sure((T)__builtin_fmaxf((f32)a, (f32)b));
}
OP T modulo(T a, T b)
{
    if constexpr (std::is_same_v<T, f64>) return fmod(a, b);
    else return (T)fmodf((f32)a, (f32)b);
}
OP T scaled(T a, i32 n)
{
    n = n % 200;
    if constexpr (std::is_same_v<T, f64>) return ldexp(a, 7 * n);
    else return (T)ldexpf((f32)a, n);
}
OP T mantissa(T a)
{
    int n;
    if (!(a - a == (T)0)) return a;
    if constexpr (std::is_same_v<T, f64>) return frexp(a, &n);
    else return (T)frexpf((f32)a, &n);
}
FN i32 exponent(f64 a)
{
    int n = 0;
    if (a - a == 0)
        frexp(a, &n);
    return n;
}
FN i32 exponent_single(f32 a)
{
    int n = 0;
    if (a - a == 0)
        frexpf(a, &n);
    return n;
}
/* Halves in a product and a sum of single precision. */
FN f32 mixed_fused(f16 a, f16 b, f32 c) { return __builtin_fmaf((f32)a, (f32)b, c); }
FN f32 mixed_fused_once(f16 a, f32 b, f32 c) { return __builtin_fmaf(-(f32)a, b, c); }
OP T fraction(T a) { return sub(a, rounded_down(a)); }

/* ---- from one type to another ---- */

template <class T, class S> FN T converted(S a)
{
    if constexpr (is_float<T>) {
        if constexpr (std::is_same_v<S, f64> || sizeof(T) > 2) return (T)a;
        else return (T)(f32)a; /* by way of float, so that both sides round twice */
    } else if constexpr (!is_float<S>) {
        return (T)a;
    } else {
        typedef std::conditional_t<sizeof(S) == 8, f64, f32> F;
        constexpr F above = (F)((u64)1 << (bits_of<T> - 1 - (std::is_signed_v<T> ? 1 : 0))) * 2;
        F x = (F)a;
        if (x != x) return 0;
        if (x >= above) return most<T>;
        return x <= (std::is_signed_v<T> ? -above : (F)0) ? least<T> : (T)x;
    }
}
template <class T, class S> FN T same_bits(S a)
{
    static_assert(sizeof(T) == sizeof(S));
    if constexpr (is_float<S>)
        if (a != a)
            return (T)1;
    T out;
    memcpy(&out, &a, sizeof out);
    return out;
}

/* ---- two or four numbers in a register ---- */

OP T pairs_add(T a, T b) { return a + b; }
OP T pairs_sub(T a, T b) { return a - b; }
OP T pairs_mul(T a, T b) { return a * b; }
OP T pairs_min(T a, T b) { return __builtin_elementwise_min(a, b); }
OP T pairs_max(T a, T b) { return __builtin_elementwise_max(a, b); }
OP T pairs_and(T a, T b) { return a & b; }
OP T pairs_left(T a, T b) { return a << (b & (T)(8 * sizeof(a.x) - 1)); }
OP T pairs_right(T a, T b) { return a >> (b & (T)(8 * sizeof(a.x) - 1)); }
OP T pairs_add_saturating(T a, T b) { return __builtin_elementwise_add_sat(a, b); }
OP T pairs_sub_saturating(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }
OP T pairs_multiply_add(T a, T b, T c) { return a * b + c; }
OP T pairs_swapped(T a)
{
    if constexpr (sizeof(a) / sizeof(a.x) == 2) return a.yx;
    else return a.wzyx;
}
OP T pairs_crossed(T a, T b)
{
    a.x = b.y;
    return a;
}
OP T pairs_fused(T a, T b, T c) { return (T){fused(a.x, b.x, c.x), fused(a.y, b.y, c.y)}; }
OP T pairs_of(decltype(T().x) a, decltype(T().x) b) { return (T){a, b}; }
OP T fours_of(decltype(T().x) a, decltype(T().x) b) { return (T){a, b, a, b}; }
OP auto upper_of(T a) { return a.y; }
