/*
 * Tallies of executed instructions to counters with rocprof's names, and the memory model's per-access counts.
 *
 * What an instruction counts as follows from its row alone: its family, its mnemonic and, for matrix instructions, its
 * shape. Packed arithmetic counts twice, so that 64 * (ADD + MUL + TRANS + 2 * FMA) is the number of operations.
 * Source: rocprofiler counter descriptions for gfx942.
 */
#include "watch.h"

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

/* The four counters of a type stand in the order of Kind. */
static void count_arithmetic(const char *m, u64 executions, u64 *counters)
{
    Kind kind = kind_of(m);
    if (kind == KIND_NONE)
        return;
    int first = has(m, "f64") ? COUNTER_SQ_INSTS_VALU_ADD_F64
              : has(m, "f16") ? COUNTER_SQ_INSTS_VALU_ADD_F16 : COUNTER_SQ_INSTS_VALU_ADD_F32;
    counters[first + kind - KIND_ADD] += starts(m, "v_pk_") ? 2 * executions : executions;
}

/* In units of 512 operations. */
static void count_matrix(const Row *r, u64 executions, u64 *counters)
{
    u64 operations = 2ull * r->bytes * r->bytes * r->detail[1] * r->detail[2] * executions;
    int counter = has(r->mnemonic, "i8") ? COUNTER_SQ_INSTS_VALU_MFMA_MOPS_I8
                : has(r->mnemonic, "bf16") ? COUNTER_SQ_INSTS_VALU_MFMA_MOPS_BF16
                : has(r->mnemonic, "f16") ? COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F16
                : has(r->mnemonic, "f64") ? COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F64
                : has(r->mnemonic, "fp8") || has(r->mnemonic, "bf8") ? COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F8
                : COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F32;
    counters[counter] += operations / 512;
}

/* ---- memory ---- */

/* An atomic that returns a value counts as a read, another as a write. */
static void count_vector_memory(const Inst *i, Tally t, u64 *counters)
{
    const char *m = i->row->mnemonic;
    bool atomic = has(m, "_atomic_"), store = has(m, "_store_"), load = has(m, "_load_");
    if (!atomic && !store && !load)
        return; /* cache control */
    if (load || (atomic && i->sc0))
        counters[COUNTER_SQ_INSTS_VMEM_RD] += t.executions;
    else
        counters[COUNTER_SQ_INSTS_VMEM_WR] += t.executions;
    if (load || atomic)
        counters[COUNTER_bytes_loaded] += t.lanes * i->row->bytes;
    if (store || atomic)
        counters[COUNTER_bytes_stored] += t.lanes * i->row->bytes;
}

/* ---- all of it ---- */

static void count(const Inst *i, Tally t, u64 *counters)
{
    const Row *r = i->row;
    counters[COUNTER_SQ_INSTS] += t.executions;
    switch (r->family) {
    case FAMILY_SALU: counters[COUNTER_SQ_INSTS_SALU] += t.executions; break;
    case FAMILY_SMEM: counters[COUNTER_SQ_INSTS_SMEM] += t.executions; break;
    case FAMILY_BRANCH: counters[COUNTER_SQ_INSTS_BRANCH] += t.executions; break;
    case FAMILY_MFMA:
        counters[COUNTER_SQ_INSTS_MFMA] += t.executions;
        count_matrix(r, t.executions, counters);
        counters[COUNTER_SQ_INSTS_VALU] += t.executions;
        break;
    case FAMILY_VALU:
        counters[COUNTER_SQ_INSTS_VALU] += t.executions;
        counters[COUNTER_SQ_THREAD_CYCLES_VALU] += t.lanes;
        counters[COUNTER_active_lanes_valu] += t.lanes;
        count_arithmetic(r->mnemonic, t.executions, counters);
        break;
    case FAMILY_LDS:
        counters[COUNTER_SQ_INSTS_LDS] += t.executions;
        counters[COUNTER_lds_bytes] += t.lanes * r->bytes * (has(r->mnemonic, "read2") || has(r->mnemonic, "write2") ? 2 : 1);
        break;
    case FAMILY_FLAT: counters[COUNTER_SQ_INSTS_FLAT] += t.executions; count_vector_memory(i, t, counters); break;
    case FAMILY_GLOBAL:
    case FAMILY_SCRATCH:
    case FAMILY_BUFFER: count_vector_memory(i, t, counters); break;
    default: break;
    }
}

void counters_gather(const Program *p, const Tally *tally, u64 waves, u64 *counters)
{
    counters[COUNTER_SQ_WAVES] = waves;
    for (u32 n = 0; n < p->count; n++)
        if (tally[n].executions)
            count(&p->code[n], tally[n], counters);
}

void counters_add_worker(const Worker *k, u64 *counters)
{
    counters[COUNTER_barriers] += k->barriers;
    counters[COUNTER_branches_taken] += k->taken;
    counters[COUNTER_cache_lines_loaded] += k->lines_loaded;
    counters[COUNTER_cache_lines_stored] += k->lines_stored;
    counters[COUNTER_SQ_LDS_BANK_CONFLICT] += k->lds_conflicts;
    counters[COUNTER_SQ_LDS_IDX_ACTIVE] += k->lds_active;
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

/* ---- models of single accesses ---- */

enum { LINE_BYTES = 128, BANKS = 32, BANK_BYTES = 4 };

/* Distinct 128-byte lines that one instruction asks for. */
void count_cache_lines(Wave *w, const u64 *address, u64 active, u32 bytes, bool store)
{
    u64 seen[2 * LANES];
    u32 lines = 0;
    for (int l = 0; l < LANES; l++) {
        if (!(active >> l & 1))
            continue;
        for (u64 line = address[l] / LINE_BYTES; line <= (address[l] + bytes - 1) / LINE_BYTES; line++) {
            u32 k = lines;
            while (k && seen[k - 1] != line) /* neighbours come last: nearly always the first comparison */
                k--;
            if (!k && lines < 2 * LANES)
                seen[lines++] = line;
        }
    }
    if (store)
        w->worker->lines_stored += lines;
    else
        w->worker->lines_loaded += lines;
}

/* The cycles of one phase: the most distinct words that one bank must give. */
static u32 phase_cycles(const u32 *address, u64 active, u32 first, u32 lanes, u32 words)
{
    u32 word[BANKS][LANES], depth[BANKS] = {0}, worst = 0;
    for (u32 l = first; l < first + lanes; l++) {
        if (!(active >> l & 1))
            continue;
        for (u32 k = 0; k < words; k++) {
            u32 at = address[l] / BANK_BYTES + k, bank = at % BANKS, n = 0;
            while (n < depth[bank] && word[bank][n] != at)
                n++;
            if (n == depth[bank] && n < LANES)
                word[bank][depth[bank]++] = at;
        }
    }
    for (u32 bank = 0; bank < BANKS; bank++)
        worst = depth[bank] > worst ? depth[bank] : worst;
    return worst;
}

/* An access is served in phases of 128 bytes; conflicts are the cycles beyond one a phase. */
void count_lds_access(Wave *w, const u32 *address, u64 active, u32 bytes)
{
    u32 words = bytes > BANK_BYTES ? (bytes + BANK_BYTES - 1) / BANK_BYTES : 1;
    u32 lanes = words >= 4 ? 8 : words >= 2 ? 16 : 32;
    for (u32 first = 0; first < LANES; first += lanes) {
        u32 cycles = phase_cycles(address, active, first, lanes, words);
        w->worker->lds_active += cycles;
        w->worker->lds_conflicts += cycles > 1 ? cycles - 1 : 0;
    }
}
