#include "machine/exec.h"

#include "model/counters.h"

/* Runs an instruction that may change EXEC. It is divergent when it splits the active lanes: some continue, some do not. */
static void run_exec_writer(Wave *w, const Inst *i)
{
    u64 before = exec_mask(w);
    i->row->run(w, i);
    u64 after = exec_mask(w);
    if (after && after != before && !(after & ~before))
        counters_divergence(w, i);
}

bool exec_written_by(const Inst *i)
{
    const char *m = i->row->mnemonic;
    bool scalar = i->row->family == FAMILY_SALU || i->row->family == FAMILY_SMEM;
    return (scalar && i->sdst >= SGPR_EXEC && i->sdst < SCALAR_FILE) || strstr(m, "saveexec") || strstr(m, "wrexec") ||
           !strncmp(m, "v_cmpx", 6);
}

/* A wave of 32 lanes uses only the lower half of EXEC; what is read from the upper one alone is not documented. LLVM's
 * 64-bit ballot copies the whole register and needs it to be zero there (AMDGPU, SIISelLowering, ballot of true). */
static bool reads_missing_lanes(const Program *p, const Inst *i)
{
    bool found = strstr(i->row->mnemonic, "saveexec_b64") || strstr(i->row->mnemonic, "wrexec_b64");
    for (int k = 0; k < SOURCES; k++)
        found |= i->source[k] == SGPR_EXEC + 1;
    return p->wave32 && found;
}

static bool writes_missing_lanes(const Program *p, const Inst *i)
{
    bool wide = i->row->result == TYPE_U64 || i->row->result == TYPE_I64 || i->row->result == TYPE_WIDE;
    return p->wave32 && i->row->family == FAMILY_SALU &&
           (i->sdst == SGPR_EXEC + 1 || (wide && i->sdst == SGPR_EXEC));
}

static void run_without_upper_lanes(Wave *w, const Inst *i)
{
    run_exec_writer(w, i);
    w->s[SGPR_EXEC + 1] = 0;
}

bool exec_settle(const Program *p, Inst *i)
{
    if (reads_missing_lanes(p, i))
        return false;
    if (i->run == i->row->run && exec_written_by(i))
        i->run = writes_missing_lanes(p, i) ? run_without_upper_lanes : run_exec_writer;
    return true;
}
