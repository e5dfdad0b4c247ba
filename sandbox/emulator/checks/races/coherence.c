/*
 * Which instructions order memory: LLVM AMDGPUUsage, "Memory Model" of gfx90a, gfx942, gfx10-gfx11 and gfx12, checked
 * against what hipcc emits. On gfx942 and gfx12 an atomic or volatile access carries its scope, elsewhere loads alone.
 */
#include "checks/races/coherence.h"

Coherence coherence_of(const char *arch)
{
    if (!strncmp(arch, "gfx94", 5) || !strncmp(arch, "gfx95", 5))
        return COHERENCE_SC;
    if (!strncmp(arch, "gfx9", 4))
        return COHERENCE_GLC;
    return strncmp(arch, "gfx12", 5) ? COHERENCE_DLC : COHERENCE_SCOPE;
}

/* A load or store (not an atomic) that has the cache bits of an atomic or a volatile one. */
static bool marked(Coherence c, const char *text, bool store)
{
    switch (c) {
    case COHERENCE_SC: return text_has(text, " sc0") || text_has(text, " sc1");
    case COHERENCE_SCOPE: return text_has(text, " scope:");
    default: return !text_has(text, " slc") && (store ? text_has(text, " dlc") && !text_has(text, " glc") : text_has(text, " glc"));
    }
}

/* How volatile accesses are marked, in addition to atomics. */
static bool system_wide(Coherence c, const char *text)
{
    switch (c) {
    case COHERENCE_SC: return text_has(text, " sc0") && text_has(text, " sc1");
    case COHERENCE_SCOPE: return text_has(text, " scope:SCOPE_SYS");
    case COHERENCE_DLC: return text_has(text, " dlc");
    default: return text_has(text, " glc") && !text_has(text, " slc"); /* so are atomics of all scopes but the smallest */
    }
}

/* An atomic whose scope is the workgroup. gfx90a and RDNA3 do not encode it. */
static bool for_group(Coherence c, const char *text, bool atomic)
{
    switch (c) {
    case COHERENCE_SC: return !atomic && text_has(text, " sc0") && !text_has(text, " sc1");
    case COHERENCE_SCOPE: return !text_has(text, " scope:SCOPE_DEV") && !text_has(text, " scope:SCOPE_SYS");
    default: return false;
    }
}

static bool acquires(Coherence c, const char *text)
{
    switch (c) {
    case COHERENCE_SC: return text_starts(text, "buffer_inv") && text_has(text, " sc1");
    case COHERENCE_SCOPE: return text_starts(text, "global_inv") && !for_group(c, text, false);
    default: return text_starts(text, "buffer_wbinvl1") || text_starts(text, "buffer_gl1_inv");
    }
}

/* Scalar accesses of CDNA that go past the scalar cache, as hand-written code polls and signals with them. */
static bool marked_scalar(Coherence c, const Inst *i, const char *text)
{
    return (c == COHERENCE_SC || c == COHERENCE_GLC) && i->row->family == FAMILY_SMEM && i->row->bytes && text_has(text, " glc");
}

u16 coherence_sync_of(Coherence c, const Inst *i, const char *text)
{
    u8 family = i->row->family, kind = i->row->detail[2];
    if (c == COHERENCE_SC && text_starts(text, "buffer_wbl2") && text_has(text, " sc1"))
        return SYNC_RELEASE;
    if (acquires(c, text))
        return SYNC_ACQUIRE;
    if (kind != ACCESS_ATOMIC && marked_scalar(c, i, text))
        return SYNC_ACCESS;
    if (!coherence_touches_memory(i->row) || family == FAMILY_SCRATCH)
        return 0;
    if (kind == ACCESS_ATOMIC) {
        u8 op = i->row->detail[1];
        bool extreme = op >= ATOMIC_SMIN && op <= ATOMIC_UMAX;
        bool compares = op == ATOMIC_CMPSWAP || op == ATOMIC_FCMPSWAP;
        bool returns = family == FAMILY_BUFFER || family == FAMILY_SMEM ? i->sc0 : i->dst != 0xffff;
        return (u16)(SYNC_ACCESS | (returns ? SYNC_RETURNS : 0) | (compares ? SYNC_COMPARES : 0) |
                     (extreme ? SYNC_EXTREME : 0) | (for_group(c, text, true) ? SYNC_GROUP : 0));
    }
    if (family != FAMILY_LDS && marked(c, text, kind == ACCESS_STORE))
        return (u16)(SYNC_ACCESS | (for_group(c, text, false) ? SYNC_GROUP : 0) |
                     (system_wide(c, text) ? SYNC_SYSTEM : 0));
    bool unmarked = c == COHERENCE_GLC || c == COHERENCE_DLC || family == FAMILY_LDS;
    return kind == ACCESS_STORE && unmarked ? SYNC_BUFFERED : 0;
}

/* RDNA3's L1 serves several workgroups. An acquire of a wider scope than the workgroup empties it as well as the L0,
 * directly after its access. A fence is where the source has it, and one of a barrier waits for stores first: an access
 * that is not directly followed by one stays unknown. */
bool coherence_acquires_nearby(const Program *p, u32 k)
{
    u32 next = k + 1;
    while (next < p->count && text_starts(p->text + p->code[next].text, "s_waitcnt "))
        next++;
    return next + 1 < p->count && text_starts(p->text + p->code[next].text, "buffer_gl0_inv") &&
           !text_starts(p->text + p->code[next + 1].text, "buffer_gl1_inv");
}
