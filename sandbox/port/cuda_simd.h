// CUDA's functions on two halves or four bytes of a register, which HIP lacks.
#pragma once
#define CUDA_SIMD_ONE(name, bits, type, value)                                                                         \
    __device__ inline unsigned name(unsigned a)                                                                        \
    {                                                                                                                  \
        unsigned all = 0;                                                                                              \
        for (int at = 0; at < 32; at += bits) {                                                                        \
            int x = static_cast<type>(a >> at);                                                                        \
            all |= (static_cast<unsigned>(value) & ((1u << bits) - 1)) << at;                                          \
        }                                                                                                              \
        return all;                                                                                                    \
    }
#define CUDA_SIMD_TWO(name, bits, type, value)                                                                         \
    __device__ inline unsigned name(unsigned a, unsigned b)                                                            \
    {                                                                                                                  \
        unsigned all = 0;                                                                                              \
        for (int at = 0; at < 32; at += bits) {                                                                        \
            int x = static_cast<type>(a >> at), y = static_cast<type>(b >> at);                                        \
            all |= (static_cast<unsigned>(value) & ((1u << bits) - 1)) << at;                                          \
        }                                                                                                              \
        return all;                                                                                                    \
    }
#define CUDA_SIMD_SUM(name, bits, type)                                                                                \
    __device__ inline unsigned name(unsigned a, unsigned b)                                                            \
    {                                                                                                                  \
        unsigned sum = 0;                                                                                              \
        for (int at = 0; at < 32; at += bits) {                                                                        \
            int x = static_cast<type>(a >> at), y = static_cast<type>(b >> at);                                        \
            sum += x > y ? x - y : y - x;                                                                              \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
#define CUDA_SIMD_COMPARE(how, n, bits, type, sign)                                                                    \
    CUDA_SIMD_TWO(__vcmp##how##n, bits, type, x sign y ? -1 : 0)                                                       \
    CUDA_SIMD_TWO(__vset##how##n, bits, type, x sign y ? 1 : 0)
#define CUDA_SIMD_ALL(n, bits, s, u, low, high)                                                                        \
    CUDA_SIMD_ONE(__vabs##n, bits, s, x < 0 ? -x : x)                                                                  \
    CUDA_SIMD_ONE(__vabsss##n, bits, s, x == low ? high : x < 0 ? -x : x)                                              \
    CUDA_SIMD_ONE(__vneg##n, bits, s, -x)                                                                              \
    CUDA_SIMD_ONE(__vnegss##n, bits, s, x == low ? high : -x)                                                          \
    CUDA_SIMD_TWO(__vadd##n, bits, u, x + y)                                                                           \
    CUDA_SIMD_TWO(__vsub##n, bits, u, x - y)                                                                           \
    CUDA_SIMD_TWO(__vaddss##n, bits, s, x + y < low ? low : x + y > high ? high : x + y)                               \
    CUDA_SIMD_TWO(__vsubss##n, bits, s, x - y < low ? low : x - y > high ? high : x - y)                               \
    CUDA_SIMD_TWO(__vaddus##n, bits, u, x + y > high - low ? high - low : x + y)                                       \
    CUDA_SIMD_TWO(__vsubus##n, bits, u, x < y ? 0 : x - y)                                                             \
    CUDA_SIMD_TWO(__vavgs##n, bits, s, x + y < 0 ? (x + y) / 2 : (x + y + 1) / 2)                                      \
    CUDA_SIMD_TWO(__vavgu##n, bits, u, (x + y + 1) / 2)                                                                \
    CUDA_SIMD_TWO(__vhaddu##n, bits, u, (x + y) / 2)                                                                   \
    CUDA_SIMD_TWO(__vabsdiffs##n, bits, s, x > y ? x - y : y - x)                                                      \
    CUDA_SIMD_TWO(__vabsdiffu##n, bits, u, x > y ? x - y : y - x)                                                      \
    CUDA_SIMD_TWO(__vmaxs##n, bits, s, x > y ? x : y)                                                                  \
    CUDA_SIMD_TWO(__vmaxu##n, bits, u, x > y ? x : y)                                                                  \
    CUDA_SIMD_TWO(__vmins##n, bits, s, x < y ? x : y)                                                                  \
    CUDA_SIMD_TWO(__vminu##n, bits, u, x < y ? x : y)                                                                  \
    CUDA_SIMD_SUM(__vsads##n, bits, s)                                                                                 \
    CUDA_SIMD_SUM(__vsadu##n, bits, u)                                                                                 \
    CUDA_SIMD_COMPARE(eq, n, bits, u, ==)                                                                              \
    CUDA_SIMD_COMPARE(ne, n, bits, u, !=)                                                                              \
    CUDA_SIMD_COMPARE(ges, n, bits, s, >=)                                                                             \
    CUDA_SIMD_COMPARE(geu, n, bits, u, >=)                                                                             \
    CUDA_SIMD_COMPARE(gts, n, bits, s, >)                                                                              \
    CUDA_SIMD_COMPARE(gtu, n, bits, u, >)                                                                              \
    CUDA_SIMD_COMPARE(les, n, bits, s, <=)                                                                             \
    CUDA_SIMD_COMPARE(leu, n, bits, u, <=)                                                                             \
    CUDA_SIMD_COMPARE(lts, n, bits, s, <)                                                                              \
    CUDA_SIMD_COMPARE(ltu, n, bits, u, <)
CUDA_SIMD_ALL(2, 16, short, unsigned short, -32768, 32767)
CUDA_SIMD_ALL(4, 8, signed char, unsigned char, -128, 127)
// Those of three operands, on a register and on its halves; with `_relu` no result is below 0.
#define CUDA_SIMD_THREE(name, value)                                                                                   \
    __device__ inline int name##_s32(int x, int y, int z) { return value; }                                            \
    __device__ inline int name##_s32_relu(int x, int y, int z) { return max(value, 0); }                               \
    __device__ inline unsigned name##_u32(unsigned x, unsigned y, unsigned z) { return value; }                        \
    CUDA_SIMD_HALVES(name##_s16x2, short, value)                                                                       \
    CUDA_SIMD_HALVES(name##_s16x2_relu, short, max(value, static_cast<short>(0)))                                      \
    CUDA_SIMD_HALVES(name##_u16x2, unsigned short, value)
#define CUDA_SIMD_HALVES(name, type, value)                                                                            \
    __device__ inline unsigned name(unsigned a, unsigned b, unsigned c)                                                \
    {                                                                                                                  \
        unsigned all = 0;                                                                                              \
        for (int at = 0; at < 32; at += 16) {                                                                          \
            type x = static_cast<type>(a >> at), y = static_cast<type>(b >> at), z = static_cast<type>(c >> at);       \
            all |= static_cast<unsigned>(static_cast<unsigned short>(value)) << at;                                    \
        }                                                                                                              \
        return all;                                                                                                    \
    }
CUDA_SIMD_THREE(__vimax3, max(max(x, y), z))
CUDA_SIMD_THREE(__vimin3, min(min(x, y), z))
CUDA_SIMD_THREE(__viaddmax, max(decltype(z)(x + y), z))
CUDA_SIMD_THREE(__viaddmin, min(decltype(z)(x + y), z))
__device__ inline int __vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
__device__ inline int __vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
__device__ inline unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vimax3_s16x2(a, b, 0); }
__device__ inline unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__vmins2(a, b), 0); }
#define CUDA_SIMD_WHICH(name, type, sign)                                                                              \
    __device__ inline type name(type a, type b, bool *first)                                                           \
    {                                                                                                                  \
        *first = a sign b;                                                                                             \
        return *first ? a : b;                                                                                         \
    }
CUDA_SIMD_WHICH(__vibmax_s32, int, >=)
CUDA_SIMD_WHICH(__vibmax_u32, unsigned, >=)
CUDA_SIMD_WHICH(__vibmin_s32, int, <=)
CUDA_SIMD_WHICH(__vibmin_u32, unsigned, <=)
#define CUDA_SIMD_WHICH_TWO(name, type, sign)                                                                          \
    __device__ inline unsigned name(unsigned a, unsigned b, bool *upper, bool *lower)                                  \
    {                                                                                                                  \
        *upper = static_cast<type>(a >> 16) sign static_cast<type>(b >> 16);                                           \
        *lower = static_cast<type>(a) sign static_cast<type>(b);                                                       \
        return ((*upper ? a : b) & 0xffff0000u) | ((*lower ? a : b) & 0xffffu);                                        \
    }
CUDA_SIMD_WHICH_TWO(__vibmax_s16x2, short, >=)
CUDA_SIMD_WHICH_TWO(__vibmax_u16x2, unsigned short, >=)
CUDA_SIMD_WHICH_TWO(__vibmin_s16x2, short, <=)
CUDA_SIMD_WHICH_TWO(__vibmin_u16x2, unsigned short, <=)
// Conversions of bfloat16 that HIP lacks.
#define CUDA_BOTH_SIDES __host__ __device__ inline
CUDA_BOTH_SIDES __hip_bfloat16 __float2bfloat16_rn(float v) { return __float2bfloat16(v); }
CUDA_BOTH_SIDES __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return __float22bfloat162_rn(make_float2(a, b)); }
CUDA_BOTH_SIDES __hip_bfloat162 __float2bfloat162_rn(float v) { return __float22bfloat162_rn(make_float2(v, v)); }
CUDA_BOTH_SIDES int __bfloat162int_rn(__hip_bfloat16 v) { return static_cast<int>(rintf(__bfloat162float(v))); }
CUDA_BOTH_SIDES int __bfloat162int_rz(__hip_bfloat16 v) { return static_cast<int>(__bfloat162float(v)); }
CUDA_BOTH_SIDES __hip_bfloat16 __uint2bfloat16_rn(unsigned v) { return __float2bfloat16(static_cast<float>(v)); }
// Sums of the products of four bytes, or of two halves of words with two bytes.
template <class Byte> __device__ inline int cuda_dot_four(unsigned a, unsigned b, int sum)
{
    for (int n = 0; n < 4; n++)
        sum += static_cast<int>(static_cast<Byte>(a >> 8 * n)) * static_cast<int>(static_cast<Byte>(b >> 8 * n));
    return sum;
}
template <class Word, class Byte> __device__ inline int cuda_dot_two(unsigned a, unsigned b, int sum)
{
    for (int n = 0; n < 2; n++)
        sum += static_cast<int>(static_cast<Word>(a >> 16 * n)) * static_cast<int>(static_cast<Byte>(b >> 8 * n));
    return sum;
}
__device__ inline int __dp4a(int a, int b, int c) { return cuda_dot_four<signed char>(a, b, c); }
__device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return cuda_dot_four<unsigned char>(a, b, c); }
__device__ inline int __dp4a(char4 a, char4 b, int c) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w + c; }
__device__ inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w + c;
}
__device__ inline int __dp2a_lo(int a, int b, int c) { return cuda_dot_two<short, signed char>(a, b, c); }
__device__ inline int __dp2a_hi(int a, int b, int c) { return cuda_dot_two<short, signed char>(a, b >> 16, c); }
