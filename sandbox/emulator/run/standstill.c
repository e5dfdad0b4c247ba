#include "run/standstill.h"

#include <stdlib.h>

#include "checks/changes.h"
#include "checks/observers.h"
#include "run/kernel_code.h"
#include "run/wave.h"

struct Standstill {
    Changes changes;
    u32 takes; /* as in Wave */
    u32 s[SCALAR_FILE], scc, mode, pc, indexing, call_depth;
    u64 calls[CALLS];
    u32 vectors, accumulators; /* registers of the kernel */
    u32 v[][LANES];
};

Standstill *standstill_create(const Dispatch *d)
{
    u32 vectors, accumulators;
    kernel_registers(d, &vectors, &accumulators);
    Standstill *s = calloc(1, sizeof *s + (u64)(vectors + accumulators) * sizeof *s->v);
    if (s) {
        s->vectors = vectors;
        s->accumulators = accumulators;
    }
    return s;
}

void standstill_destroy(Standstill *s) { free(s); }

static void keep(Standstill *s, const Wave *w)
{
    s->takes = 0;
    memcpy(s->s, w->s, sizeof s->s);
    memcpy(s->calls, w->calls, sizeof s->calls);
    memcpy(s->v, w->v, s->vectors * sizeof *s->v);
    memcpy(s->v + s->vectors, w->v + VECTOR_REGISTERS / 2, s->accumulators * sizeof *s->v);
    s->scc = w->scc;
    s->mode = w->mode;
    s->pc = w->pc;
    s->indexing = w->indexing;
    s->call_depth = w->call_depth;
}

static bool same(const Standstill *s, const Wave *w)
{
    return s->pc == w->pc && s->scc == w->scc && s->mode == w->mode && s->indexing == w->indexing &&
           s->call_depth == w->call_depth && !memcmp(s->s, w->s, sizeof s->s) &&
           !memcmp(s->calls, w->calls, sizeof s->calls) && !memcmp(s->v, w->v, s->vectors * sizeof *s->v) &&
           !memcmp(s->v + s->vectors, w->v + VECTOR_REGISTERS / 2, s->accumulators * sizeof *s->v);
}

/* What a wave may execute without making progress, and without learning from a clock or the host. */
static bool may_step(const Inst *i, bool others)
{
    static const char *const never[] = {"s_endpgm", "s_trap", "s_memtime", "s_memrealtime", "s_getreg", "s_sendmsg",
                                        "s_get_waveid", "s_get_shader_cycles"};
    u8 family = i->row->family;
    bool shared = family == FAMILY_SMEM || family == FAMILY_GLOBAL || family == FAMILY_FLAT || family == FAMILY_BUFFER;
    if (family == FAMILY_BARRIER || (others && shared))
        return false;
    for (u32 k = 0; k < sizeof never / sizeof *never; k++)
        if (!strncmp(i->row->mnemonic, never[k], strlen(never[k])))
            return false;
    return true;
}

/* A shuffle reads a lane that is not active, or the first active lane is not the wave's first. Compilers can make two loops
 * of one that begins and ends with `if (lane == 0)`: then such instructions run without lane 0. */
static bool takes_from_inactive_lane(const Wave *w, const Inst *i)
{
    u64 active = exec_mask(w);
    if (i->source[0] < FIRST_VGPR || i->source[0] >= FIRST_AGPR)
        return false;
    if (!strcmp(i->row->mnemonic, "v_readfirstlane_b32"))
        return active && !(active & 1);
    if (strcmp(i->row->mnemonic, "ds_bpermute_b32"))
        return false;
    const u32 *address = w->v[i->source[0] - FIRST_VGPR];
    for (u32 l = 0; l < wave_lanes(w); l++)
        if (active >> l & 1 && !lane_active(w, (address[l] + i->offset) / 4 % wave_lanes(w)))
            return true;
    return false;
}

bool standstill_repeats(Standstill *s, Wave *w, u32 longest, bool others, u64 *steps)
{
    Worker *k = w->worker;
    u32 observers = k->observers;
    bool repeats = false, quiet = true;
    keep(s, w);
    k->changes = &s->changes;
    k->observers |= OBSERVE_CHANGES;
    w->stop = STOP_YIELD;
    for (u32 n = 0; quiet && !repeats && n < longest; n++) {
        if (w->pc >= w->program->count || !may_step(&w->program->code[w->pc], others))
            break;
        if (!s->takes && takes_from_inactive_lane(w, &w->program->code[w->pc]))
            s->takes = w->pc + 1;
        k->budget = 1;
        k->clock++;
        wave_run(w);
        k->clock -= k->budget;
        ++*steps;
        quiet = w->stop == STOP_YIELD && !changes_any(&s->changes);
        repeats = quiet && same(s, w);
    }
    k->observers = observers;
    k->changes = NULL;
    w->takes = repeats ? s->takes : 0;
    return repeats;
}
