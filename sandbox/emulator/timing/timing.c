#include "timing/timing.h"

#include <stdlib.h>

#include "model/residency.h"
#include "run/kernel_code.h"
#include "timing/unit.h"

/* Wave-instructions of the run that gives the time, and of those that are compared: about 0.2 and 0.06 seconds. What is left
 * of the unit's work follows by proportion. */
enum { MOST_STEPS = 1000000, COMPARED_STEPS = 300000 };

static const struct { Change change; int counter; } losses[] = {
    {NO_MEMORY_LATENCY, COUNTER_simulated_clocks_without_latency},
    {NO_LDS_CONFLICTS, COUNTER_simulated_clocks_without_lds_conflicts},
    {NO_LDS_TIME, COUNTER_simulated_clocks_without_lds},
    {NO_BARRIERS, COUNTER_simulated_clocks_without_barriers},
    {NO_SCATTERED_LINES, COUNTER_simulated_clocks_without_scattered_lines},
    {NO_VECTOR_TIME, COUNTER_simulated_clocks_without_vector},
    {NO_MATRIX_TIME, COUNTER_simulated_clocks_without_matrix},
    {LOADS_EARLIER, COUNTER_simulated_clocks_loads_earlier},
    {FULL_MATRIX_RATE, COUNTER_simulated_clocks_full_matrix_rate},
    {ALL_IN_L1, COUNTER_simulated_clocks_all_in_l1},
    {ONE_L2, COUNTER_simulated_clocks_one_l2},
};

/* In the order of Slot. */
static const int slots[] = {
#define X(name) COUNTER_##name,
    SLOT_COUNTERS(X)
#undef X
};
_Static_assert(sizeof slots / sizeof *slots == SLOTS, "a counter for each kind of slot");

static u32 part(u64 of, u64 all) { return all ? (u32)(of * 65536.0 / (double)all) : 0; }

/* What each instruction does, and where its lines were found. */
static void read_code(const Program *p, const Rates *r, const Outcome *out, Op *op, Found *found)
{
    u64 mall_hits = out->counters[COUNTER_mall_hits], mall = mall_hits + out->counters[COUNTER_mall_misses];
    u32 loads = 0;
    for (u32 n = 0; n < p->count; n++) {
        const PcCounts *c = &out->pcs[n];
        if (!c->executions)
            continue;
        op[n] = code_read(p, n, r);
        if (op[n].pipe == PIPE_LOAD && loads < MOST_LOADS)
            op[n].load = (u8)++loads;
        found[n] = (Found){part(c->l1_hits, c->lines), part(c->l2_hits, c->l2_hits + c->l2_misses), part(mall_hits, mall)};
    }
}

static float least(float a, float b) { return a < b ? a : b; }

/* The unit with most workgroups; what units share is divided among those that have any. */
static Unit unit_of(const Dispatch *d, const Rates *r, const Outcome *out)
{
    const GpuShape *shape = d->program->shape;
    Residency p = residency_of(d, shape);
    u64 total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2], units = (u64)shape->clusters * p.units_per_cluster;
    float busy = (float)(total < units ? total : units), cus = (float)p.cus_per_unit, most = r->address * cus;
    u64 stored = 128 * out->counters[COUNTER_cache_lines_stored], written = out->counters[COUNTER_memory_bytes_written];
    u64 groups = (total + units - 1) / units;
    Unit u = {.rates = r, .cus = p.cus_per_unit, .simds = shape->simds_per_cu * p.cus_per_unit,
              .groups = (u32)(groups < 1u << 31 ? groups : 1u << 31), .resident = p.groups_per_unit};
    u.lds_rate = p.cus_per_unit > 1 ? r->shared_lds : 1;
    u.l2 = least(most, r->l2_share * cus * (float)units / busy);
    u.mall = least(most, r->mall / busy);
    u.memory = least(most, r->memory / busy);
    u.across = part(out->counters[COUNTER_reads_across_xcds], out->counters[COUNTER_mall_hits] + out->counters[COUNTER_mall_misses]);
    u.written = stored ? least(1, (float)written / (float)stored) : 0;
    return u;
}

static bool was_recorded(const Record *r)
{
    for (u32 n = 0; r && n < r->count; n++)
        for (u32 k = 0; k < r->group[n].waves; k++)
            if (r->group[n].wave[k].count)
                return true;
    return false;
}

static double clocks_a_step(const Unit *u, Change change)
{
    UnitTime t = unit_run(u, change);
    return t.steps ? (double)t.clocks / (double)t.steps : 0;
}

/* What became of the `clocks` of a mean SIMD. */
static void add_slots(const UnitTime *t, double clocks, Outcome *out)
{
    double all = 0;
    for (u32 k = 0; k < SLOTS; k++)
        all += (double)t->slots.clocks[k];
    for (u32 k = 0; k < SLOTS && all > 0; k++)
        out->counters[slots[k]] = (u64)((double)t->slots.clocks[k] / all * clocks);
}

/* `steps` of the unit in all. */
static void simulate(Unit *u, u32 most_resident, double steps, Outcome *out)
{
    u->most_steps = MOST_STEPS;
    UnitTime time = unit_run(u, CHANGE_NOTHING);
    double clocks = time.steps ? steps * (double)time.clocks / (double)time.steps : 0;
    u->most_steps = COMPARED_STEPS;
    double compared = clocks_a_step(u, CHANGE_NOTHING);
    if (clocks < 1 || compared == 0)
        return;
    out->counters[COUNTER_simulated_clocks] = (u64)clocks;
    add_slots(&time, clocks, out);
    for (size_t n = 0; n < sizeof losses / sizeof *losses; n++)
        out->counters[losses[n].counter] = (u64)(clocks * clocks_a_step(u, losses[n].change) / compared);
    u->resident = most_resident;
    out->counters[COUNTER_simulated_clocks_twice_the_waves] = (u64)(clocks * clocks_a_step(u, CHANGE_NOTHING) / compared);
}

/* Twice as many workgroups as are resident, up to those that there are, and where slots are left for their waves. */
static u32 twice_resident(const Dispatch *d, const Unit *u)
{
    const GpuShape *s = d->program->shape;
    u32 slots_of_unit = u->simds * s->waves_per_simd, waves = kernel_group_waves(d), most = slots_of_unit / waves;
    u32 twice = 2 * u->resident < most ? 2 * u->resident : most;
    twice = twice < u->groups ? twice : u->groups;
    return twice > u->resident ? twice : u->resident;
}

void timing_gather(const Dispatch *d, const Record *r, Outcome *out)
{
    const Program *p = d->program;
    const Rates *rates = rates_of(p->arch);
    if (out->fault.kind != OUTCOME_OK || !rates || !out->pcs || !was_recorded(r))
        return;
    Unit u = unit_of(d, rates, out);
    Op *op = calloc(p->count + 1, sizeof *op);
    Found *found = calloc(p->count + 1, sizeof *found);
    u64 total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    double steps = (double)out->counters[COUNTER_SQ_INSTS] / (double)total * u.groups;
    if (op && found) {
        read_code(p, rates, out, op, found);
        u.record = r;
        u.op = op;
        u.found = found;
        u64 cus = (u64)p->shape->clusters * p->shape->cus_per_cluster;
        out->counters[COUNTER_simulated_cus] = cus;
        out->counters[COUNTER_simulated_groups_at_once] = cus / u.cus * u.resident;
        simulate(&u, twice_resident(d, &u), steps, out);
    }
    free(op);
    free(found);
}
