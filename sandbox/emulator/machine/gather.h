/*
 * Dwords of sixteen lanes between memory and registers, by the patterns that kernels have: all lanes at one address, or
 * side by side. On these, one vector move replaces sixteen loads and sixteen stores.
 */
#ifndef AMDKERNEL_GATHER_H
#define AMDKERNEL_GATHER_H

#include "host/vectors.h"
#include "machine/machine.h"

#pragma clang diagnostic ignored "-Wpsabi" /* all of it is inlined: how vectors are passed does not matter */

enum { GROUP = 16 };

typedef u32 Lanes __attribute__((vector_size(4 * GROUP)));

static inline Lanes load_lanes(const void *from)
{
    Lanes x;
    memcpy(&x, from, sizeof x);
    return x;
}
static inline void store_lanes(void *to, Lanes x) { memcpy(to, &x, sizeof x); }

static inline bool all_zero(Lanes x) { return __builtin_reduce_or(x) == 0; }
static inline Lanes distances(const u32 *offset) { return load_lanes(offset) - offset[0]; }
static inline bool side_by_side(Lanes distance)
{
    const Lanes steps = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60};
    return all_zero(distance ^ steps);
}

/* A lane's dwords in one access where hardware has one: a flag and its value, written together, are read together. */
static inline void read_words(const u8 *from, u32 words, u32 *out)
{
    if (words == 2)
        memcpy(out, from, 8);
    else if (words == 4)
        move_four(out, from);
    else
        memcpy(out, from, 4 * words);
}
static inline void write_words(u8 *to, u32 words, const u32 *x)
{
    if (words == 2)
        memcpy(to, x, 8);
    else if (words == 4)
        move_four(to, x);
    else
        memcpy(to, x, 4 * words);
}

enum { MOST_WORDS = 16 };

static inline void gather_broadcast(const u8 *from, u32 words, u32 *rows)
{
    u32 x[MOST_WORDS];
    read_words(from, words, x);
    for (u32 k = 0; k < words; k++)
        store_lanes(rows + k * LANES, x[k] - (Lanes){0});
}

static inline void gather_anyhow(const u8 *base, const u32 *offset, u32 words, u32 *rows)
{
    for (u32 l = 0; l < GROUP && words == 4; l += 4)
        four_by_four(base, offset + l, rows + l, LANES);
    for (u32 l = 0; l < GROUP && words == 2; l += 4)
        four_by_two(base, offset + l, rows + l, LANES);
    for (u32 k = 0; k < words && words != 4 && words != 2; k++)
        for (u32 l = 0; l < GROUP; l++)
            memcpy(&rows[k * LANES + l], base + offset[l] + 4 * k, 4);
}

/* `words` dwords at each of `count` bases, which share the lanes' offsets; `rows` is the first register at the group's
 * first lane. It may be the one that holds the offsets. */
static inline __attribute__((always_inline)) void gather_group(const u8 *const *bases, u32 count, const u32 *offset,
                                                               u32 words, u32 *rows)
{
    Lanes distance = distances(offset);
    u32 first = offset[0];
    if (all_zero(distance)) {
        for (u32 n = 0; n < count; n++)
            gather_broadcast(bases[n] + first, words, rows + n * words * LANES);
    } else if (words == 1 && side_by_side(distance)) {
        for (u32 n = 0; n < count; n++)
            store_lanes(rows + n * LANES, load_lanes(bases[n] + first));
    } else {
        u32 own[GROUP];
        memcpy(own, offset, sizeof own);
        for (u32 n = 0; n < count; n++)
            gather_anyhow(bases[n], own, words, rows + n * words * LANES);
    }
}

static inline __attribute__((always_inline)) bool all_side_by_side(const Lanes *distance, u32 groups)
{
    const Lanes steps = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60};
    Lanes off = {0};
    for (u32 g = 0; g < groups; g++)
        off |= distance[g] ^ steps;
    return all_zero(off);
}

/* The same for all lanes of a wave, whose groups mostly are of one pattern. Inlined with constant numbers: the choices
 * within are then made by the compiler. */
static inline __attribute__((always_inline)) void gather_all(u32 lanes, const u8 *const *bases, u32 count,
                                                             const u32 *offset, u32 words, u32 *rows)
{
    Lanes distance[LANES / GROUP], apart = {0};
    u32 first[LANES / GROUP], groups = lanes / GROUP;
    for (u32 g = 0; g < groups; g++) {
        distance[g] = distances(offset + g * GROUP);
        first[g] = offset[g * GROUP];
        apart |= distance[g];
    }
    if (all_zero(apart)) {
#pragma clang loop unroll(full)
        for (u32 g = 0; g < groups; g++)
            for (u32 n = 0; n < count; n++)
                gather_broadcast(bases[n] + first[g], words, rows + n * words * LANES + g * GROUP);
    } else if (words == 1 && all_side_by_side(distance, groups)) {
#pragma clang loop unroll(full)
        for (u32 g = 0; g < groups; g++)
            for (u32 n = 0; n < count; n++)
                store_lanes(rows + n * LANES + g * GROUP, load_lanes(bases[n] + first[g]));
    } else {
#pragma clang loop unroll(disable)
        for (u32 g = 0; g < groups; g++)
            gather_group(bases, count, offset + g * GROUP, words, rows + g * GROUP);
    }
}

/* Lanes of the group one after the other: where two store to one place, the last one stays. */
static inline void scatter_group(u8 *base, const u32 *offset, u32 words, const u32 *rows)
{
    if (words == 1 && side_by_side(distances(offset))) {
        store_lanes(base + offset[0], load_lanes(rows));
        return;
    }
    for (u32 l = 0; l < GROUP; l++) {
        u32 x[MOST_WORDS];
        for (u32 k = 0; k < words; k++)
            x[k] = rows[k * LANES + l];
        write_words(base + offset[l], words, x);
    }
}

#endif
