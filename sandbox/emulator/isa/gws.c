/*
 * Global wave sync: barriers for waves of all workgroups. On gfx90a grid synchronisation uses them.
 *
 * Each resource counts down. The wave that finds it at 0 passes, releases all waiting waves, and resets the count.
 * The runtime sets resource 0 to the workgroups that a cooperative launch has, less one.
 * CDNA2 ISA, "DS_GWS_INIT", "DS_GWS_BARRIER"; which resource: LLVM AMDGPUUsage and "GWS" of the ISA's data share chapter.
 */
#include "isa/gws.h"

#include "checks/races/happens_before.h"
#include "machine/fault.h"
#include "machine/lanes.h"

enum { RESOURCE_BITS = 6, M0_AT = 16 };

/* How often it was passed, and how many waves are still to come before the last one. */
static u32 passes_of(u64 state) { return (u32)(state >> 32); }
static u32 missing_of(u64 state) { return (u32)state; }

void gws_start(Gws *g, u64 workgroups) { *g = (Gws){.state = {workgroups - 1}}; }

/* Meaningless unless the launch was cooperative: otherwise the resources are not set up. */
static u64 *resource(Wave *w, const Inst *i, u32 *number)
{
    Gws *g = w->worker->gws;
    *number = ((u32)i->offset + (w->s[SGPR_M0] >> M0_AT)) & ((1u << RESOURCE_BITS) - 1);
    if (!g)
        fault_not_emulated(w, i);
    return g ? &g->state[*number] : NULL;
}

/* The first active lane decides. */
static u32 value_of(Wave *w, const Inst *i)
{
    u64 active = exec_mask(w);
    return vector(w, i->source[0])[active ? __builtin_ctzll(active) : 0];
}

static void ds_gws_init(Wave *w, const Inst *i)
{
    u32 number;
    u64 *state = resource(w, i, &number);
    if (state)
        __atomic_store_n(state, pair(value_of(w, i), passes_of(*state)), __ATOMIC_SEQ_CST);
}

/* Places of signals that no memory has. */
static u64 place_of_resource(u32 number) { return ~0ull - number; }

static Races *races_of(const Wave *w) { return w->shadow && w->shadow->raced ? w->worker->checks->races : NULL; }

static void pass(Wave *w, u32 number)
{
    Races *r = races_of(w);
    if (!r)
        return;
    happens_before_learn(r, w, r->sync, place_of_resource(number), false);
    happens_before_acquire(r, w);
}

static void arrive(Wave *w, u32 number)
{
    Races *r = races_of(w);
    if (!r)
        return;
    happens_before_release(r, w, DEFINITE);
    happens_before_publish(r, w, r->sync, place_of_resource(number), true);
    happens_before_new_epoch(r, w);
}

static void ds_gws_barrier(Wave *w, const Inst *i)
{
    u32 number;
    u64 *state = resource(w, i, &number);
    if (!state)
        return;
    arrive(w, number);
    u64 old = __atomic_load_n(state, __ATOMIC_SEQ_CST), new;
    do {
        u32 missing = missing_of(old);
        new = missing ? pair(missing - 1, passes_of(old)) : pair(value_of(w, i), passes_of(old) + 1);
    } while (!__atomic_compare_exchange_n(state, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (!missing_of(old)) {
        pass(w, number);
        return;
    }
    w->gws = (GwsWait){.waits = true, .number = number, .passes = passes_of(old)};
    w->stop = STOP_YIELD;
}

bool gws_waits(Wave *w)
{
    if (!w->gws.waits)
        return false;
    u32 passes = passes_of(__atomic_load_n(&w->worker->gws->state[w->gws.number], __ATOMIC_SEQ_CST));
    w->gws.waits = passes == w->gws.passes;
    if (!w->gws.waits)
        pass(w, w->gws.number);
    return w->gws.waits;
}

#define ROW(name) \
    {.mnemonic = #name, .run = name, .layout = "0", .family = FAMILY_MISC, .source = {TYPE_U32}, \
     .modifiers = MOD_OFFSET | MOD_GDS}

static const Row rows[] = {ROW(ds_gws_init), ROW(ds_gws_barrier)};

const RowTable isa_gws = {rows, sizeof rows / sizeof *rows};
