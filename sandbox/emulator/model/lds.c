/*
 * How long the LDS is busy with an instruction, from the banks that its lanes touch.
 *
 * A wave is served in phases: groups of lanes whose data fill the banks once. A phase takes a cycle for each distinct
 * word that its most wanted bank must give; lanes that read or write the same word share it. Every phase takes a cycle,
 * also one whose lanes are all switched off. Only atomics on one word take turns.
 *
 * Phases of 4- and 8-byte accesses are neighbouring lanes, as are those of 16-byte stores; those of 16-byte loads are
 * not, but on RDNA4. Sources: nod-ai/amd-shark-ai, docs/empirical-lds (bank conflicts counted on an MI300X, phases of
 * loads timed on MI300X, MI350X, W7900 and RX 9070 XT); ROCm documentation, Composable Kernel, "LDS bank conflicts"
 * (phases of stores); triton-lang/triton pull request 11365 (the same phases); ROCm Compute Profiler, "LDS examples"
 * (two cycles for a single active lane on an MI250); HazyResearch/HipKittens, analysis/paper_experiments/phases (banks
 * and phases by width, counted on a gfx950). The order of the phases does not matter. gfx90a as gfx942, stores
 * and waves of 64 on RDNA as on CDNA.
 */
#include "model/lds.h"

#include <stdlib.h>

enum { BANK_BYTES = 4, MOST_BANKS = 64, QUADS = LANES / 4, WIDEST_BYTES = 16 };

/* Which phase four neighbouring lanes belong to, when they load 16 bytes each. The upper 32 lanes as the lower ones. */
static const u8 wide_load_phase_32[QUADS] = {0, 1, 2, 3, 1, 0, 3, 2, 4, 5, 6, 7, 5, 4, 7, 6};
static const u8 wide_load_phase_64[QUADS] = {0, 1, 1, 0, 1, 0, 0, 1, 2, 3, 3, 2, 3, 2, 2, 3};

static u64 wide_load_lanes(u32 phase, u32 banks)
{
    const u8 *phases = banks == 64 ? wide_load_phase_64 : wide_load_phase_32;
    u64 lanes = 0;
    for (u32 quad = 0; quad < QUADS; quad++)
        lanes |= phases[quad] == phase ? 15ull << 4 * quad : 0;
    return lanes;
}

/* Words that the banks have been asked for in one phase. */
typedef struct { u32 word[MOST_BANKS][LANES]; u8 distinct[MOST_BANKS], lanes[MOST_BANKS]; } Phase;

static void ask(Phase *p, u32 word, u32 banks)
{
    u32 bank = word & (banks - 1), n = 0; /* a power of two: a division for each lane is dear */
    p->lanes[bank]++;
    while (n < p->distinct[bank] && p->word[bank][n] != word)
        n++;
    if (n == p->distinct[bank])
        p->word[bank][p->distinct[bank]++] = word;
}

static void serve(const Phase *p, u32 banks, bool atomic, LdsCycles *sum)
{
    u32 words = 1, turns = 1;
    for (u32 bank = 0; bank < banks; bank++) {
        words = p->distinct[bank] > words ? p->distinct[bank] : words;
        turns = p->lanes[bank] > turns ? p->lanes[bank] : turns;
    }
    u32 waits = atomic ? turns - words : 0;
    sum->active += words + waits;
    sum->bank_conflicts += words - 1;
    sum->address_conflicts += waits;
}

/* At no multiple of their width. 12 bytes count as 16: ds_read_b96 needs the alignment of a ds_read_b128. */
static u32 misaligned_lanes(const u32 *offset, u64 active, u32 bytes)
{
    u32 width = bytes == 12 ? 16 : bytes, lanes = 0;
    for (u64 left = active; left; left &= left - 1)
        lanes += offset[__builtin_ctzll(left)] % width != 0;
    return lanes;
}

/* gfx950 serves loads of 12 bytes and stores of 8 as if it had the 32 banks of its predecessors. */
static u32 banks_of(const GpuShape *shape, u32 bytes, AccessKind kind)
{
    bool half = (bytes == 12 && kind == ACCESS_LOAD) || (bytes == 8 && kind == ACCESS_STORE);
    return half && shape->lds_banks > 32 ? 32 : shape->lds_banks;
}

static LdsCycles lds_cycles(const GpuShape *shape, u32 lanes, const u32 *offset, u64 active, u32 bytes, AccessKind kind)
{
    u32 banks = banks_of(shape, bytes, kind);
    u32 words = bytes > BANK_BYTES ? (bytes + BANK_BYTES - 1) / BANK_BYTES : 1;
    u32 across = words == 3 ? 4 : words, phases = lanes * across / banks;
    LdsCycles sum = {0};
    bool neighbours = !(across == 4 && kind == ACCESS_LOAD && shape->lds_wide_swizzle);
    u32 each = phases ? lanes / phases : lanes;
    for (u32 phase = 0; phase < (phases ? phases : 1); phase++) {
        Phase p;
        memset(p.distinct, 0, sizeof p.distinct);
        memset(p.lanes, 0, sizeof p.lanes);
        u64 served = neighbours ? (~0ull >> (LANES - each)) << phase * each : wide_load_lanes(phase, banks);
        for (u64 left = active & served; left; left &= left - 1)
            for (u32 l = (u32)__builtin_ctzll(left), k = 0; k < words; k++)
                ask(&p, offset[l] / BANK_BYTES + k, banks);
        serve(&p, banks, kind == ACCESS_ATOMIC, &sum);
    }
    sum.misaligned_lanes = misaligned_lanes(offset, active, bytes);
    return sum;
}

/* ---- what was found for an instruction before ----
 *
 * A loop runs the same instruction at the same distances between its lanes again and again, and moving all lanes by the
 * same number of words turns the banks round, but changes no conflict. The alignment of lane 0 is part of the key. */

typedef struct {
    u64 active;
    u32 distance[LANES] __attribute__((aligned(64)));
    u32 within_word, bytes, kind;
    LdsCycles cycles;
} Known;

enum { KNOWN = 256 };
struct LdsModel { const GpuShape *shape; u32 lanes; Known known[KNOWN] __attribute__((aligned(64))); };

LdsModel *lds_model_create(const GpuShape *shape, u32 lanes)
{
    LdsModel *m = aligned_alloc(64, sizeof *m);
    if (m) {
        memset(m, 0, sizeof *m);
        m->shape = shape;
        m->lanes = lanes;
    }
    return m;
}

void lds_model_destroy(LdsModel *m) { free(m); }

/* From lane 0; of lanes that are switched off, nothing. */
static void distances_of(const u32 *offset, u64 active, u32 *distance)
{
    for (int l = 0; l < LANES; l++)
        distance[l] = offset[l] - offset[0];
    for (int l = 0; active != ~0ull && l < LANES; l++)
        distance[l] = active >> l & 1 ? distance[l] : 0;
}

LdsCycles lds_model_cycles(LdsModel *m, u32 hint, const u32 *offset, u64 active, u32 bytes, AccessKind kind)
{
    u32 distance[LANES] __attribute__((aligned(64))), within = offset[0] % WIDEST_BYTES;
    distances_of(offset, active, distance);
    Known *k = &m->known[hint % KNOWN];
    if (k->active != active || k->bytes != bytes || k->kind != kind || k->within_word != within ||
        memcmp(k->distance, distance, sizeof distance)) {
        *k = (Known){.active = active, .within_word = within, .bytes = bytes, .kind = kind};
        memcpy(k->distance, distance, sizeof distance);
        k->cycles = lds_cycles(m->shape, m->lanes, offset, active, bytes, kind);
    }
    return k->cycles;
}
