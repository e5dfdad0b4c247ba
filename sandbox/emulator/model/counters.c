/*
 * From the executions of each instruction to the exact counters.
 *
 * What an instruction counts as follows from its row: its family, its mnemonic and, for matrix instructions, its shape.
 * Packed arithmetic counts twice, so that 64 * (ADD + MUL + TRANS + 2 * FMA) is the number of operations.
 * Sources: rocprofiler-sdk, counter_defs.yaml for gfx90a, gfx942 and gfx950; where that leaves room, recordings of
 * vecCopy on MI200 and MI300X against its disassembly: s_endpgm counts as SENDMSG, s_waitcnt in SQ_INSTS only, global_
 * instructions as FLAT, and integer kinds go by the type in the mnemonic (v_lshlrev_b64 is neither INT32 nor INT64).
 */
#include "model/counters.h"

#include "model/pc_counts.h"

static bool has(const char *s, const char *part) { return strstr(s, part) != NULL; }
static bool starts(const char *s, const char *part) { return strncmp(s, part, strlen(part)) == 0; }

/* ---- vector arithmetic by type ---- */

typedef enum { KIND_NONE, KIND_ADD, KIND_MUL, KIND_FMA, KIND_TRANS } Kind;

static Kind kind_of(const char *m)
{
    static const struct { const char *part; Kind kind; } kinds[] = {
        {"v_fma", KIND_FMA}, {"v_pk_fma", KIND_FMA}, {"v_mad_f", KIND_FMA}, {"v_mac_f", KIND_FMA}, {"v_madak", KIND_FMA},
        {"v_madmk", KIND_FMA}, {"v_div_fmas", KIND_FMA}, {"v_add_f", KIND_ADD}, {"v_sub_f", KIND_ADD},
        {"v_subrev_f", KIND_ADD}, {"v_pk_add_f", KIND_ADD}, {"v_mul_f", KIND_MUL}, {"v_pk_mul_f", KIND_MUL},
        {"v_mul_legacy_f", KIND_MUL}, {"v_exp_", KIND_TRANS}, {"v_log_", KIND_TRANS}, {"v_rcp_", KIND_TRANS},
        {"v_rsq_", KIND_TRANS}, {"v_sqrt_", KIND_TRANS}, {"v_sin_", KIND_TRANS}, {"v_cos_", KIND_TRANS},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (starts(m, kinds[k].part))
            return kinds[k].kind;
    return KIND_NONE;
}

static void count_integer(const char *m, u64 executions, u64 *counters)
{
    if (starts(m, "v_cvt_"))
        counters[COUNTER_SQ_INSTS_VALU_CVT] += executions;
    else if (has(m, "_i64") || has(m, "_u64"))
        counters[COUNTER_SQ_INSTS_VALU_INT64] += executions;
    else if (has(m, "_i32") || has(m, "_u32"))
        counters[COUNTER_SQ_INSTS_VALU_INT32] += executions;
}

/* The four counters of a type are in the order of Kind. */
static void count_arithmetic(const char *m, u64 executions, u64 *counters)
{
    Kind kind = kind_of(m);
    if (kind == KIND_NONE) {
        count_integer(m, executions, counters);
        return;
    }
    int first = has(m, "f64") ? COUNTER_SQ_INSTS_VALU_ADD_F64
              : has(m, "f16") ? COUNTER_SQ_INSTS_VALU_ADD_F16 : COUNTER_SQ_INSTS_VALU_ADD_F32;
    counters[first + kind - KIND_ADD] += starts(m, "v_pk_") ? 2 * executions : executions;
}

/* ---- matrix instructions ---- */

/* In the order of the counters; the first that the mnemonic has. */
enum { F16, BF16, F32, F64, I8, F8, XF32, F6F4 };

static int matrix_type(const char *m)
{
    return has(m, "f8f6f4") ? F6F4 : has(m, "i8") || has(m, "iu8") || has(m, "iu4") ? I8 : has(m, "xf32") ? XF32 : has(m, "bf16") ? BF16
         : has(m, "fp8") || has(m, "bf8") ? F8 : has(m, "f64") ? F64 : has(m, "f16") ? F16 : F32;
}

/* Work in units of 512 operations, with all lanes. A sparse instruction counts by the depth in its name. */
static void count_matrix(const Row *r, u64 executions, u64 *counters)
{
    int type = matrix_type(r->mnemonic);
    u64 operations = 2ull * r->bytes * r->bytes * r->detail[1] * r->detail[2] * executions;
    counters[COUNTER_SQ_INSTS_MFMA] += executions;
    counters[COUNTER_SQ_INSTS_VALU_MFMA_F16 + type] += executions;
    counters[COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F16 + type] += operations / 512;
}

/* ---- memory ---- */

static bool encoded_as_flat(const Row *r) { return r->family != FAMILY_BUFFER; }

/* TA and TD see an atomic as such; the SQ sees one that returns a value as a read, another as a write. */
static void count_vector_memory(const Inst *i, PcExecutions t, u64 *counters)
{
    const Row *r = i->row;
    AccessKind kind = r->detail[2];
    bool reads = kind == ACCESS_LOAD || (kind == ACCESS_ATOMIC && i->sc0);
    int unit = encoded_as_flat(r) ? COUNTER_TA_FLAT_WAVEFRONTS_sum : COUNTER_TA_BUFFER_WAVEFRONTS_sum;
    counters[COUNTER_SQ_INSTS_VMEM] += t.executions;
    counters[reads ? COUNTER_SQ_INSTS_VMEM_RD : COUNTER_SQ_INSTS_VMEM_WR] += t.executions;
    counters[COUNTER_SQ_INSTS_FLAT] += encoded_as_flat(r) ? t.executions : 0;
    counters[COUNTER_TA_TOTAL_WAVEFRONTS_sum] += t.executions;
    counters[unit] += t.executions;
    counters[unit + 1 + (int)kind] += t.executions;
    u64 bytes = t.lanes * r->bytes;
    counters[COUNTER_bytes_loaded] += kind != ACCESS_STORE ? bytes : 0;
    counters[COUNTER_bytes_stored] += kind != ACCESS_LOAD ? bytes : 0;
    counters[COUNTER_bytes_atomic] += kind == ACCESS_ATOMIC ? bytes : 0;
}

static void count_lds(const Row *r, PcExecutions t, u64 *counters)
{
    bool two = has(r->mnemonic, "read2") || has(r->mnemonic, "write2") || has(r->mnemonic, "wrxchg2");
    counters[COUNTER_SQ_INSTS_LDS] += t.executions;
    counters[COUNTER_SQ_INSTS_LDS_LOAD + r->detail[2]] += t.executions;
    counters[COUNTER_lds_bytes] += t.lanes * r->bytes * (two ? 2 : 1);
}

static void count_scalar_memory(const Row *r, PcExecutions t, u64 *counters)
{
    counters[COUNTER_SQ_INSTS_SMEM] += t.executions;
    u32 dwords = r->bytes / 4u;
    u64 bytes = t.executions * r->bytes;
    if (r->detail[2] != ACCESS_LOAD) {
        bool atomic = r->detail[2] == ACCESS_ATOMIC;
        counters[COUNTER_bytes_loaded] += atomic ? bytes : 0;
        counters[COUNTER_bytes_stored] += bytes;
        counters[COUNTER_bytes_atomic] += atomic ? bytes : 0;
        return;
    }
    if (!dwords)
        return; /* clocks and cache control */
    int size = 31 - __builtin_clz(dwords);
    counters[COUNTER_SQC_DCACHE_REQ] += t.executions;
    counters[COUNTER_SQC_DCACHE_REQ_READ_1 + size] += t.executions;
    counters[COUNTER_scalar_bytes_loaded] += bytes;
}

/* ---- all of it ---- */

static void count_misc(const char *m, u64 executions, u64 *counters)
{
    if (starts(m, "s_wait"))
        counters[COUNTER_waits] += executions;
    else if (starts(m, "s_sendmsg") || starts(m, "s_endpgm"))
        counters[COUNTER_SQ_INSTS_SENDMSG] += executions;
}

static void count(const Inst *i, PcExecutions t, u64 *counters)
{
    const Row *r = i->row;
    counters[COUNTER_SQ_INSTS] += t.executions;
    switch (r->family) {
    case FAMILY_SALU: counters[COUNTER_SQ_INSTS_SALU] += t.executions; break;
    case FAMILY_SMEM: count_scalar_memory(r, t, counters); break;
    case FAMILY_BRANCH: counters[COUNTER_SQ_INSTS_BRANCH] += t.executions; break;
    case FAMILY_MFMA:
        count_matrix(r, t.executions, counters);
        counters[COUNTER_SQ_INSTS_VALU] += t.executions;
        break;
    case FAMILY_VALU:
        counters[COUNTER_SQ_INSTS_VALU] += t.executions;
        counters[COUNTER_SQ_THREAD_CYCLES_VALU] += t.lanes;
        counters[COUNTER_active_lanes_valu] += t.lanes;
        count_arithmetic(r->mnemonic, t.executions, counters);
        break;
    case FAMILY_LDS: count_lds(r, t, counters); break;
    case FAMILY_FLAT:
    case FAMILY_GLOBAL:
    case FAMILY_SCRATCH:
    case FAMILY_BUFFER: count_vector_memory(i, t, counters); break;
    default: count_misc(r->mnemonic, t.executions, counters); break;
    }
}

/* The bytes that one instruction requested from any memory. */
u64 counters_bytes_asked(const Inst *i, PcExecutions t)
{
    u64 counters[COUNTER_COUNT] = {0};
    count(i, t, counters);
    return counters[COUNTER_bytes_loaded] + counters[COUNTER_bytes_stored] - counters[COUNTER_bytes_atomic] +
           counters[COUNTER_lds_bytes] + counters[COUNTER_scalar_bytes_loaded];
}

/* A wait before which nothing was read, in the order of addresses. */
typedef struct { u32 at; u64 executions; } IdleWait;

enum { IDLE_WAITS = 64 };

/* `loads`, `lds`, `scalar`: read since the wait before, in the order of addresses. `idle`: the last waits for nothing. */
typedef struct {
    const Program *program;
    u64 *counters;
    bool loads, lds, scalar;
    IdleWait idle[IDLE_WAITS];
    u32 idle_count;
} Gathering;

static void add_wait(Gathering *g, u64 executions)
{
    if (g->loads)
        g->counters[COUNTER_waits_for_memory] += executions;
    else if (g->lds)
        g->counters[COUNTER_waits_for_lds] += executions;
    else if (g->scalar)
        g->counters[COUNTER_waits_for_scalars] += executions;
}

/* A loop that reads at its end waits at its beginning: the first wait for nothing after the target is for these reads. */
static void count_wait_of_loop(Gathering *g, u32 target)
{
    for (u32 k = g->idle_count > IDLE_WAITS ? g->idle_count - IDLE_WAITS : 0; k < g->idle_count; k++) {
        IdleWait *w = &g->idle[k % IDLE_WAITS];
        if (w->at < target || !w->executions)
            continue;
        add_wait(g, w->executions);
        w->executions = 0;
        return;
    }
}

/* A wait after a read; later waits for the same batch of reads cost next to nothing. */
static void count_wait(Gathering *g, const Inst *i, u32 at, u64 executions)
{
    const Row *r = i->row;
    bool reads = g->loads || g->lds || g->scalar;
    switch (r->family) {
    case FAMILY_BRANCH:
        if (reads && i->target <= at)
            count_wait_of_loop(g, i->target);
        return;
    case FAMILY_SMEM: g->scalar |= r->detail[2] != ACCESS_STORE; return;
    case FAMILY_LDS: g->lds |= r->detail[2] != ACCESS_STORE; return;
    case FAMILY_FLAT:
    case FAMILY_GLOBAL:
    case FAMILY_SCRATCH:
    case FAMILY_BUFFER: g->loads |= r->detail[2] != ACCESS_STORE; return;
    default: break;
    }
    if (!starts(r->mnemonic, "s_wait"))
        return;
    if (reads)
        add_wait(g, executions);
    else
        g->idle[g->idle_count++ % IDLE_WAITS] = (IdleWait){at, executions};
    g->loads = g->lds = g->scalar = false;
}

static void count_instruction(void *context, u32 n, PcExecutions t)
{
    Gathering *g = context;
    const Inst *i = &g->program->code[n];
    count(i, t, g->counters);
    count_wait(g, i, n, t.executions);
    for (u32 half = 0; half < 2 && is_dual(i); half++)
        count_arithmetic(g->program->halves[i->target + half].row->mnemonic, t.executions, g->counters);
}

void counters_gather(const Program *p, const PcExecutions *pc_counts, u64 waves, u64 *counters)
{
    Gathering g = {.program = p, .counters = counters};
    counters[COUNTER_SQ_WAVES] = waves;
    counters[COUNTER_SQ_WAVES_EQ_64] = waves - counters[COUNTER_SQ_WAVES_LT_64];
    pc_counts_visit(pc_counts, p->count, count_instruction, &g);
    counters[p->wave32 ? COUNTER_SQ_WAVE32_INSTS : COUNTER_SQ_WAVE64_INSTS] = counters[COUNTER_SQ_INSTS];
}

/* Bytes that vector memory instructions sought elsewhere than in memory. */
static void move_bytes(const Events *e, u64 *counters)
{
    for (int kind = ACCESS_LOAD; kind <= ACCESS_ATOMIC; kind++) {
        u64 lds = e->bytes_in_lds[kind], scratch = e->bytes_in_scratch[kind];
        counters[COUNTER_lds_bytes] += lds;
        counters[COUNTER_scratch_bytes_loaded] += kind != ACCESS_STORE ? scratch : 0;
        counters[COUNTER_scratch_bytes_stored] += kind != ACCESS_LOAD ? scratch : 0;
        counters[COUNTER_bytes_loaded] -= kind != ACCESS_STORE ? lds + scratch : 0;
        counters[COUNTER_bytes_stored] -= kind != ACCESS_LOAD ? lds + scratch : 0;
        counters[COUNTER_bytes_atomic] -= kind == ACCESS_ATOMIC ? lds + scratch : 0;
    }
}

void counters_add_worker(const Worker *k, u64 *counters)
{
    const Events *e = &k->events;
    counters[COUNTER_barriers] += e->barriers;
    counters[COUNTER_branches_taken] += e->taken;
    counters[COUNTER_branches_divergent] += e->divergent;
    counters[COUNTER_SQ_ITEMS] += e->items;
    for (int n = 0; n < 4; n++)
        counters[COUNTER_SQ_WAVES_LT_64 + n] += e->waves_under[n];
    counters[COUNTER_SQ_INSTS_LDS] += e->flat_in_lds;
    counters[COUNTER_SQ_INSTS_FLAT_LDS_ONLY] += e->flat_only_in_lds;
    if (e->longest_wave > counters[COUNTER_longest_wave_insts])
        counters[COUNTER_longest_wave_insts] = e->longest_wave;
    move_bytes(e, counters);
    counters[COUNTER_SQ_LDS_BANK_CONFLICT] += k->lds.bank_conflicts;
    counters[COUNTER_SQ_LDS_ADDR_CONFLICT] += k->lds.address_conflicts;
    counters[COUNTER_SQ_LDS_IDX_ACTIVE] += k->lds.active;
    counters[COUNTER_lds_misaligned_lanes] += k->lds.misaligned_lanes;
}

void counters_divergence(Wave *w, const Inst *i)
{
    w->worker->events.divergent++;
    if (w->worker->pcs)
        w->worker->pcs[instruction_number(w, i)].divergent++;
}

const char *counter_name(int counter)
{
    static const char *const names[] = {
#define X(name) #name,
        EMULATOR_COUNTERS(X)
#undef X
    };
    return counter >= 0 && counter < COUNTER_COUNT ? names[counter] : "";
}
