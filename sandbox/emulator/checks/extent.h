/* Where the lanes of an access lie together. */
#ifndef AMDKERNEL_CHECKS_EXTENT_H
#define AMDKERNEL_CHECKS_EXTENT_H

#include "machine/machine.h"

typedef struct { u64 low, high; bool side_by_side; } Extent;

/* From the lowest byte to the one after the highest; `side_by_side`: lane after lane, without a gap. Some lane is active. */
static inline Extent extent_of(const u64 *address, u64 active, u32 bytes)
{
    const i64 *at = (const i64 *)address; /* signed ones are compared several at once */
    i64 first = at[__builtin_ctzll(active)], low = first, high = first, gap = 0;
    if (active != ~0ull) {
        for (u32 l = 0; l < LANES; l++) {
            i64 one = active >> l & 1 ? at[l] : first;
            low = one < low ? one : low;
            high = one > high ? one : high;
        }
        return (Extent){(u64)low, (u64)high + bytes, low == high};
    }
    for (u32 l = 0; l < LANES; l++) {
        gap |= at[l] ^ (first + (i64)(l * (u64)bytes));
        low = at[l] < low ? at[l] : low;
        high = at[l] > high ? at[l] : high;
    }
    return (Extent){(u64)low, (u64)high + bytes, !gap};
}

#endif
