/*
 * Dwords of eight lanes between memory and registers, by the patterns that kernels have: all lanes at one address, or
 * side by side. On these, one vector move replaces eight loads and eight stores.
 */
#ifndef AMDKERNEL_GATHER_H
#define AMDKERNEL_GATHER_H

#include <immintrin.h>

#include "machine.h"

enum { GROUP = 8 };

/* Rows of registers lie LANES dwords apart. */
static inline void set_row(u32 *row, __m256i x) { _mm256_storeu_si256((__m256i *)row, x); }

static inline bool all_zero(__m256i x) { return _mm256_testz_si256(x, x); }

static inline __m256i distances(const u32 *offset)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)offset);
    return _mm256_sub_epi32(v, _mm256_broadcastd_epi32(_mm256_castsi256_si128(v)));
}

static inline bool side_by_side(__m256i distance, int bytes)
{
    __m256i steps = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(bytes));
    return all_zero(_mm256_xor_si256(distance, steps));
}

/* Four lanes' 16 bytes each become four rows. */
static inline void four_by_four(const u8 *base, const u32 *offset, u32 *rows)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(base + offset[0]));
    __m128i b = _mm_loadu_si128((const __m128i *)(base + offset[1]));
    __m128i c = _mm_loadu_si128((const __m128i *)(base + offset[2]));
    __m128i d = _mm_loadu_si128((const __m128i *)(base + offset[3]));
    __m128i ab0 = _mm_unpacklo_epi32(a, b), ab2 = _mm_unpackhi_epi32(a, b);
    __m128i cd0 = _mm_unpacklo_epi32(c, d), cd2 = _mm_unpackhi_epi32(c, d);
    _mm_storeu_si128((__m128i *)rows, _mm_unpacklo_epi64(ab0, cd0));
    _mm_storeu_si128((__m128i *)(rows + LANES), _mm_unpackhi_epi64(ab0, cd0));
    _mm_storeu_si128((__m128i *)(rows + 2 * LANES), _mm_unpacklo_epi64(ab2, cd2));
    _mm_storeu_si128((__m128i *)(rows + 3 * LANES), _mm_unpackhi_epi64(ab2, cd2));
}

/* Four lanes' 8 bytes each become two rows. */
static inline void four_by_two(const u8 *base, const u32 *offset, u32 *rows)
{
    __m128i a = _mm_loadl_epi64((const __m128i *)(base + offset[0]));
    __m128i b = _mm_loadl_epi64((const __m128i *)(base + offset[1]));
    __m128i c = _mm_loadl_epi64((const __m128i *)(base + offset[2]));
    __m128i d = _mm_loadl_epi64((const __m128i *)(base + offset[3]));
    __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    _mm_storeu_si128((__m128i *)rows, _mm_unpacklo_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(rows + LANES), _mm_unpackhi_epi64(ab, cd));
}

static inline void gather_broadcast(const u8 *from, u32 words, u32 *rows)
{
    for (u32 k = 0; k < words; k++) {
        u32 x;
        memcpy(&x, from + 4 * k, 4);
        set_row(rows + k * LANES, _mm256_set1_epi32((int)x));
    }
}

static inline void gather_anyhow(const u8 *base, const u32 *offset, u32 words, u32 *rows)
{
    if (words == 4) {
        four_by_four(base, offset, rows);
        four_by_four(base, offset + 4, rows + 4);
    } else if (words == 2) {
        four_by_two(base, offset, rows);
        four_by_two(base, offset + 4, rows + 4);
    } else {
        for (u32 k = 0; k < words; k++)
            for (int l = 0; l < GROUP; l++)
                memcpy(&rows[k * LANES + (u32)l], base + offset[l] + 4 * k, 4);
    }
}

/* `words` dwords at each of `bases`, which share the lanes' offsets; `rows` is the first register at the group's first
 * lane. It may be the one that holds the offsets. */
static inline __attribute__((always_inline)) void gather_group(const u8 *const *bases, u32 count, const u32 *offset,
                                                               u32 words, u32 *rows)
{
    __m256i distance = distances(offset);
    if (all_zero(distance)) {
        u32 first = offset[0];
        for (u32 n = 0; n < count; n++)
            gather_broadcast(bases[n] + first, words, rows + n * words * LANES);
    } else if (words == 1 && side_by_side(distance, 4)) {
        u32 first = offset[0];
        for (u32 n = 0; n < count; n++)
            set_row(rows + n * LANES, _mm256_loadu_si256((const __m256i *)(bases[n] + first)));
    } else {
        u32 own[GROUP];
        memcpy(own, offset, sizeof own);
        for (u32 n = 0; n < count; n++)
            gather_anyhow(bases[n], own, words, rows + n * words * LANES);
    }
}

/* Lanes of the group one after the other: where two store to one place, the last one stays. */
static inline void scatter_group(u8 *base, const u32 *offset, u32 words, const u32 *rows)
{
    if (words == 1 && side_by_side(distances(offset), 4)) {
        _mm256_storeu_si256((__m256i *)(base + offset[0]), _mm256_loadu_si256((const __m256i *)rows));
        return;
    }
    for (int l = 0; l < GROUP; l++)
        for (u32 k = 0; k < words; k++)
            memcpy(base + offset[l] + 4 * k, &rows[k * LANES + (u32)l], 4);
}

#endif
