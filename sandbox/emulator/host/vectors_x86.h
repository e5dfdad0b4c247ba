/* The operations of host/vectors.h in AVX2. vectors_portable.h has the same, and says what they do. */
#ifndef AMDKERNEL_HOST_VECTORS_X86_H
#define AMDKERNEL_HOST_VECTORS_X86_H

#include <immintrin.h>

#include "emulator.h"

/* All ones for each of the eight lanes whose bit is set. */
static inline __m256i lane_mask(u64 bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
}

static inline void choose_eight(u32 *to, const u32 *clear, const u32 *set, u64 bits)
{
    __m256i x = _mm256_loadu_si256((const __m256i *)clear), y = _mm256_loadu_si256((const __m256i *)set);
    _mm256_storeu_si256((__m256i *)to, _mm256_blendv_epi8(x, y, lane_mask(bits)));
}

static inline u32 nonzero_of_eight(const u32 *words)
{
    __m256i none = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)words), _mm256_setzero_si256());
    return ~(u32)_mm256_movemask_ps(_mm256_castsi256_ps(none)) & 0xff;
}

static inline u64 gather_bits(const u8 *flags)
{
    u64 half[2];
    for (int k = 0; k < 2; k++) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(flags + 32 * k));
        half[k] = (u32)_mm256_movemask_epi8(_mm256_slli_epi16(x, 7));
    }
    return half[0] | half[1] << 32;
}

static inline void four_by_four(const u8 *base, const u32 *offset, u32 *rows, u32 apart)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(base + offset[0]));
    __m128i b = _mm_loadu_si128((const __m128i *)(base + offset[1]));
    __m128i c = _mm_loadu_si128((const __m128i *)(base + offset[2]));
    __m128i d = _mm_loadu_si128((const __m128i *)(base + offset[3]));
    __m128i ab0 = _mm_unpacklo_epi32(a, b), ab2 = _mm_unpackhi_epi32(a, b);
    __m128i cd0 = _mm_unpacklo_epi32(c, d), cd2 = _mm_unpackhi_epi32(c, d);
    _mm_storeu_si128((__m128i *)rows, _mm_unpacklo_epi64(ab0, cd0));
    _mm_storeu_si128((__m128i *)(rows + apart), _mm_unpackhi_epi64(ab0, cd0));
    _mm_storeu_si128((__m128i *)(rows + 2 * apart), _mm_unpacklo_epi64(ab2, cd2));
    _mm_storeu_si128((__m128i *)(rows + 3 * apart), _mm_unpackhi_epi64(ab2, cd2));
}

static inline void four_by_two(const u8 *base, const u32 *offset, u32 *rows, u32 apart)
{
    __m128i a = _mm_loadl_epi64((const __m128i *)(base + offset[0]));
    __m128i b = _mm_loadl_epi64((const __m128i *)(base + offset[1]));
    __m128i c = _mm_loadl_epi64((const __m128i *)(base + offset[2]));
    __m128i d = _mm_loadl_epi64((const __m128i *)(base + offset[3]));
    __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    _mm_storeu_si128((__m128i *)rows, _mm_unpacklo_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(rows + apart), _mm_unpackhi_epi64(ab, cd));
}

static inline void move_four(void *to, const void *from)
{
    _mm_storeu_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)from));
}

#endif
