/* The operations of host/vectors.h in the vector types of clang, which every processor has. */
#ifndef AMDKERNEL_HOST_VECTORS_PORTABLE_H
#define AMDKERNEL_HOST_VECTORS_PORTABLE_H

#include <string.h>

#include "emulator.h"

typedef u32 FourWords __attribute__((vector_size(16), aligned(1), may_alias));

/* Of eight words: `set` where one of the lowest eight bits is 1, else `clear`. */
static inline void choose_eight(u32 *to, const u32 *clear, const u32 *set, u64 bits)
{
    const FourWords bit[2] = {{1, 2, 4, 8}, {16, 32, 64, 128}};
    for (int k = 0; k < 2; k++) {
        FourWords mask = (FourWords)((bit[k] & (u32)bits) != 0);
        FourWords x = *(const FourWords *)(clear + 4 * k), y = *(const FourWords *)(set + 4 * k);
        *(FourWords *)(to + 4 * k) = (x & ~mask) | (y & mask);
    }
}

/* A bit for each of eight words that is not zero. */
static inline u32 nonzero_of_eight(const u32 *words)
{
    const FourWords bit[2] = {{1, 2, 4, 8}, {16, 32, 64, 128}};
    FourWords bits = {0};
    for (int k = 0; k < 2; k++)
        bits |= (FourWords)(*(const FourWords *)(words + 4 * k) != 0) & bit[k];
    return bits[0] | bits[1] | bits[2] | bits[3];
}

/* 64 bytes of 0 or 1 to a mask. */
static inline u64 gather_bits(const u8 *flags)
{
    u64 mask = 0;
    for (int k = 0; k < 8; k++) { /* the product moves byte n's lowest bit to bit 56 + n */
        u64 eight;
        memcpy(&eight, flags + 8 * k, 8);
        mask |= (eight * 0x0102040810204080ull >> 56) << 8 * k;
    }
    return mask;
}

/* Four lanes' 16 bytes each become four rows, which lie `apart` words from each other. */
static inline void four_by_four(const u8 *base, const u32 *offset, u32 *rows, u32 apart)
{
    FourWords a = *(const FourWords *)(base + offset[0]), b = *(const FourWords *)(base + offset[1]);
    FourWords c = *(const FourWords *)(base + offset[2]), d = *(const FourWords *)(base + offset[3]);
    for (int k = 0; k < 4; k++)
        *(FourWords *)(rows + (u32)k * apart) = (FourWords){a[k], b[k], c[k], d[k]};
}

/* Four lanes' 8 bytes each become two rows. */
static inline void four_by_two(const u8 *base, const u32 *offset, u32 *rows, u32 apart)
{
    u64 x[4];
    for (int l = 0; l < 4; l++)
        memcpy(&x[l], base + offset[l], 8);
    *(FourWords *)rows = (FourWords){(u32)x[0], (u32)x[1], (u32)x[2], (u32)x[3]};
    *(FourWords *)(rows + apart) = (FourWords){(u32)(x[0] >> 32), (u32)(x[1] >> 32), (u32)(x[2] >> 32), (u32)(x[3] >> 32)};
}

/* 16 bytes in one access where the processor has one. */
static inline void move_four(void *to, const void *from) { *(FourWords *)to = *(const FourWords *)from; }

#endif
