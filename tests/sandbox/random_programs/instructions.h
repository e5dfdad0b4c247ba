/*
 * Instructions of the GPU that have a name in C, and what they compute.
 * Source: CDNA3 ISA and RDNA3 ISA, the pseudocode of each.
 */
#pragma once
#include "operations.h"

FN u32 permuted_bytes(u32 high, u32 low, u32 select)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_perm(high, low, select);
#else
    u64 both = (u64)high << 32 | low;
    u32 out = 0;
    for (int k = 0; k < 4; k++) {
        u32 which = select >> 8 * k & 255, byte;
        if (which < 8)
            byte = both >> 8 * which & 255;
        else if (which < 12) /* the sign of a word, throughout */
            byte = both >> (16 * (which - 8) + 15) & 1 ? 255 : 0;
        else
            byte = which == 12 ? 0 : 255;
        out |= byte << 8 * k;
    }
    return out;
#endif
}
FN u32 aligned_bits(u32 high, u32 low, u32 shift)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_alignbit(high, low, shift);
#else
    return (u32)(((u64)high << 32 | low) >> (shift & 31));
#endif
}
FN u32 aligned_bytes(u32 high, u32 low, u32 shift)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_alignbyte(high, low, shift);
#else
    return (u32)(((u64)high << 32 | low) >> 8 * (shift & 3));
#endif
}
FN u32 byte_distances(u32 a, u32 b, u32 sum)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_sad_u8(a, b, sum);
#else
    for (int k = 0; k < 32; k += 8)
        sum += distance<u32>(a >> k & 255, b >> k & 255);
    return sum;
#endif
}
FN u32 short_distances(u32 a, u32 b, u32 sum)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_sad_u16(a, b, sum);
#else
    return sum + distance<u32>(a & 0xffff, b & 0xffff) + distance<u32>(a >> 16, b >> 16);
#endif
}
FN u32 bit_field(u32 a, u32 from, u32 width)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_ubfe(a, from & 31, width & 31);
#else
    return (a >> (from & 31)) & ((1u << (width & 31)) - 1);
#endif
}
FN i32 signed_bit_field(i32 a, u32 from, u32 width)
{
    from &= 31;
    width &= 31;
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_sbfe(a, from, width);
#else
    if (!width)
        return 0;
    if (from + width >= 32)
        return a >> from;
    return (i32)((u32)a << (32 - from - width)) >> (32 - width);
#endif
}
/* A product that does not fit is undefined to the compiler. */
FN i32 product_24(i32 a, i32 b)
{
    b = (i8)b;
#ifdef __HIP_DEVICE_COMPILE__
    return __mul24(a, b);
#else
    return ((i32)((u32)a << 8) >> 8) * b;
#endif
}
FN u32 averaged_bytes(u32 a, u32 b, u32 round)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_lerp(a, b, round);
#else
    u32 out = 0;
    for (int k = 0; k < 32; k += 8)
        out |= ((a >> k & 255) + (b >> k & 255) + (round >> k & 1)) >> 1 << k;
    return out;
#endif
}
FN f32 half_bits_single(u16 a) { return (f32)same_bits<f16>(a); }
/* Distances of the bytes that `b` has; a zero byte of it stands for any. */
FN u32 masked_distances(u32 a, u32 b, u32 sum)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_msad_u8(a, b, sum);
#else
    for (int k = 0; k < 32; k += 8)
        sum += b >> k & 255 ? distance<u32>(a >> k & 255, b >> k & 255) : 0;
    return sum;
#endif
}
FN u32 upper_byte_distances(u32 a, u32 b, u32 sum)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_sad_hi_u8(a, b, sum);
#else
    for (int k = 0; k < 32; k += 8)
        sum += distance<u32>(a >> k & 255, b >> k & 255) << 16;
    return sum;
#endif
}
/* Four windows of four bytes, each compared with the same four bytes; sums of 16 bits. */
FN u64 window_distances(u64 a, u32 b, u64 sums)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_qsad_pk_u16_u8(a, b, sums);
#else
    u64 out = 0;
    for (int k = 0; k < 4; k++)
        out |= (u64)(byte_distances((u32)(a >> 8 * k), b, (u32)(sums >> 16 * k & 65535)) & 65535) << 16 * k;
    return out;
#endif
}
FN u32 product_of_bytes(u32 a, u32 b, u32 sum)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_udot4(a, b, sum, false);
#else
    for (int k = 0; k < 32; k += 8)
        sum += (a >> k & 255) * (b >> k & 255);
    return sum;
#endif
}
FN u32 product_of_nibbles(u32 a, u32 b, u32 sum)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_udot8(a, b, sum, true);
#else
    u64 exact = sum;
    for (int k = 0; k < 32; k += 4)
        exact += (a >> k & 15) * (b >> k & 15);
    return exact > 0xffffffff ? 0xffffffff : (u32)exact;
#endif
}
FN u32 narrowed_pair(u32 a, u32 b)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pk_u16(a, b));
#else
    return lesser<u32>(a, 65535) | lesser<u32>(b, 65535) << 16;
#endif
}
FN u32 signed_narrowed_pair(i32 a, i32 b)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pk_i16(a, b));
#else
    return (u16)middle<i32>(a, -32768, 32767) | (u32)(u16)middle<i32>(b, -32768, 32767) << 16;
#endif
}
/* What lies between, of three numbers. */
FN f32 median(f32 a, f32 b, f32 c)
{
    if (a != a || b != b || c != c)
        return 1;
#ifdef __HIP_DEVICE_COMPILE__
    return sure(__builtin_amdgcn_fmed3f(a, b, c));
#else
    return middle(a, b, c);
#endif
}
/* Bit 0 and 1: NaN; then -infinity, normal, denormal and zero, and the positive ones from zero up. */
FN u32 is_of_class(f32 a, u32 classes)
{
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_classf(a, (i32)(classes & 1020));
#else
    u32 size = a != a ? 4 : std::isinf(a) ? 0 : a == 0 ? 3 : std::fabs(a) < 0x1p-126f ? 2 : 1;
    return size < 4 && (classes & 1020) >> (std::signbit(a) ? 2 + size : 9 - size) & 1;
#endif
}
/* Never quite 1. */
FN f64 fraction_below_one(f64 a)
{
    if (!(a - a == 0))
        return 1;
#ifdef __HIP_DEVICE_COMPILE__
    return __builtin_amdgcn_fract(a);
#else
    return std::fmin(a - std::floor(a), 0x1.fffffffffffffp-1);
#endif
}
