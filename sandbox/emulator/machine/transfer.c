/* Data between lanes and memory, once access.c has said where it lies. */
#include "machine/transfer.h"

#include "machine/gather.h"
#include "machine/lanes.h"

static void zero_outside(Wave *w, const Access *a, u16 dst, u32 words)
{
    for (u32 k = 0; k < words; k++)
        for (int l = 0; l < LANES; l++)
            if (a->outside >> l & 1)
                vector(w, dst + k)[l] = 0;
}

static void load_lane(Wave *w, const Access *a, u16 dst, u32 words, int lane)
{
    const u8 *from = lane_at(a, lane); /* by value: the result may overwrite the addresses */
    u32 x[MOST_WORDS];
    read_words(from, words, x);
    for (u32 k = 0; k < words; k++)
        vector(w, dst + k)[lane] = x[k];
}
static void store_lane(Wave *w, const Access *a, u16 source, u32 words, int lane)
{
    u32 x[MOST_WORDS];
    for (u32 k = 0; k < words; k++)
        x[k] = vector(w, source + k)[lane];
    write_words(lane_at(a, lane), words, x);
}

/* As gather_all() does it. */
static inline __attribute__((always_inline)) void store_all(u8 *base, const u32 *offset, u32 words, const u32 *rows)
{
    for (int first = 0; first < LANES; first += GROUP)
        scatter_group(base, offset + first, words, rows + first);
}

enum { ALL_ACTIVE = (1 << GROUP) - 1 };

static inline __attribute__((always_inline)) void load_all(u32 lanes, const Access *a, u32 words, u32 *rows)
{
    const u8 *const bases[] = {a->base};
    if (words == 1)
        gather_all(lanes, bases, 1, a->offset, 1, rows);
    else if (words == 2)
        gather_all(lanes, bases, 1, a->offset, 2, rows);
    else if (words == 4)
        gather_all(lanes, bases, 1, a->offset, 4, rows);
    else
        gather_all(lanes, bases, 1, a->offset, words, rows);
}

static void load_some(Wave *w, const Access *a, u16 dst, u32 words)
{
    if (a->active == w->all_lanes && a->base) {
        load_all(32, a, words, vector(w, dst));
        return;
    }
    for (int first = 0; first < LANES; first += GROUP) {
        u32 all_active = a->active >> first & ALL_ACTIVE;
        if (all_active == ALL_ACTIVE && a->base)
            gather_group((const u8 *const[]){a->base}, 1, a->offset + first, words, vector(w, dst) + first);
        else
            for (int l = first; all_active && l < first + GROUP; l++)
                if (a->active >> l & 1)
                    load_lane(w, a, dst, words, l);
    }
    if (a->outside)
        zero_outside(w, a, dst, words);
}

void transfer_load(Wave *w, const Access *a, u16 dst, u32 words)
{
    if (unlikely(a->active != ~0ull || !a->base))
        load_some(w, a, dst, words);
    else
        load_all(LANES, a, words, vector(w, dst));
}

static void store_some(Wave *w, const Access *a, u16 source, u32 words)
{
    for (int first = 0; first < LANES; first += GROUP) {
        u32 all_active = a->active >> first & ALL_ACTIVE;
        if (all_active == ALL_ACTIVE && a->base)
            scatter_group(a->base, a->offset + first, words, vector(w, source) + first);
        else
            for (int l = first; all_active && l < first + GROUP; l++)
                if (a->active >> l & 1)
                    store_lane(w, a, source, words, l);
    }
}

void transfer_store(Wave *w, const Access *a, u16 source, u32 words)
{
    const u32 *rows = vector(w, source);
    if (unlikely(a->active != ~0ull || !a->base))
        store_some(w, a, source, words);
    else if (words == 1)
        store_all(a->base, a->offset, 1, rows);
    else
        store_all(a->base, a->offset, words, rows);
}

typedef u16 GroupOfHalves __attribute__((vector_size(2 * GROUP)));
typedef u8 GroupOfBytes __attribute__((vector_size(GROUP)));

static inline Lanes widened(const u8 *from, const u32 bytes)
{
    GroupOfHalves halves;
    GroupOfBytes single;
    if (bytes == 1) {
        memcpy(&single, from, sizeof single);
        return __builtin_convertvector(single, Lanes);
    }
    memcpy(&halves, from, sizeof halves);
    return __builtin_convertvector(halves, Lanes);
}

/* One or two bytes of each of sixteen lanes, which often lie side by side. */
static inline __attribute__((always_inline)) void read_small_group(const u8 *base, const u32 *offset, const u32 bytes,
                                                                   u32 *out)
{
    const Lanes steps = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    if (all_zero(distances(offset) ^ steps * bytes)) {
        store_lanes(out, widened(base + offset[0], bytes));
        return;
    }
    for (u32 l = 0; l < GROUP; l++) {
        u16 x = 0;
        memcpy(&x, base + offset[l], bytes);
        out[l] = x;
    }
}

static void read_small_all_active(const u8 *base, const u32 *offset, u32 bytes, u32 *out)
{
    for (int first = 0; first < LANES; first += GROUP)
        if (bytes == 1)
            read_small_group(base, offset + first, 1, out + first);
        else
            read_small_group(base, offset + first, 2, out + first);
}

/* One or two bytes of each active lane, the others' being zero. */
static void read_small(const Access *a, u32 bytes, u32 *out)
{
    if (likely(a->base && a->active == ~0ull)) {
        read_small_all_active(a->base, a->offset, bytes, out);
        return;
    }
    for (int l = 0; l < LANES; l++) {
        u16 x = 0;
        if (!(a->active >> l & 1))
            x = 0;
        else if (bytes == 1)
            x = *lane_at(a, l);
        else
            memcpy(&x, lane_at(a, l), 2);
        out[l] = x;
    }
}

static void extend_sign(u32 *x, u32 bits)
{
    for (int l = 0; l < LANES; l++)
        x[l] = (u32)((i32)(x[l] << (32 - bits)) >> (32 - bits));
}

/* Where registers have ECC, a load into one half clears the other: it cannot write 16 bits alone. LLVM counts on no more
 * than that the other half is lost (GCNSubtarget, d16PreservesUnusedBits, with sramecc), AMD's assembly kernels on zeros
 * (Tensile, HasEccHalf). */
void transfer_load_small(Wave *w, const Access *a, u16 dst, u32 bytes, u8 extend)
{
    u32 x[LANES], *d = vector(w, dst), kept = w->program->generation == GFX9 ? 0 : 0xffff;
    read_small(a, bytes, x);
    if (extend == EXTEND_SIGN || extend == EXTEND_SIGN_LOW || extend == EXTEND_SIGN_HIGH)
        extend_sign(x, 8 * bytes);
    if (extend == EXTEND_LOW || extend == EXTEND_SIGN_LOW)
        for (int l = 0; l < LANES; l++)
            x[l] = (d[l] & kept << 16) | (x[l] & 0xffff);
    else if (extend == EXTEND_HIGH || extend == EXTEND_SIGN_HIGH)
        for (int l = 0; l < LANES; l++)
            x[l] = (d[l] & kept) | x[l] << 16;
    put_masked(d, x, a->active | a->outside);
}

void transfer_store_small(Wave *w, const Access *a, u16 source, u32 bytes, bool high)
{
    const u32 *s = vector(w, source);
    for (int l = 0; l < LANES; l++) {
        u32 x = high ? s[l] >> 16 : s[l];
        if (a->active >> l & 1)
            memcpy(lane_at(a, l), &x, bytes);
    }
}
