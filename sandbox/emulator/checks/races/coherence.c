/*
 * Which instructions order memory: LLVM AMDGPUUsage, "Memory Model" of gfx90a, gfx942, gfx10-gfx11 and gfx12, checked
 * against what hipcc emits. On gfx942 and gfx12 an atomic or volatile access carries its scope, elsewhere loads alone.
 */
#include "checks/races/coherence.h"

#include "machine/access.h"
#include "checks/races/annotations.h"
#include "checks/observers.h"

Coherence coherence_of(const char *arch)
{
    if (!strncmp(arch, "gfx94", 5) || !strncmp(arch, "gfx95", 5))
        return COHERENCE_SC;
    if (!strncmp(arch, "gfx9", 4))
        return COHERENCE_GLC;
    return strncmp(arch, "gfx12", 5) ? COHERENCE_DLC : COHERENCE_SCOPE;
}

/* A load or store (not an atomic) that carries the marks of an atomic or a volatile one. */
static bool marked(Coherence c, const char *text, bool store)
{
    switch (c) {
    case COHERENCE_SC: return has(text, " sc0") || has(text, " sc1");
    case COHERENCE_SCOPE: return has(text, " scope:");
    default: return !has(text, " slc") && (store ? has(text, " dlc") && !has(text, " glc") : has(text, " glc"));
    }
}

/* Marks of volatile accesses, beside those of atomics. */
static bool system_wide(Coherence c, const char *text)
{
    switch (c) {
    case COHERENCE_SC: return has(text, " sc0") && has(text, " sc1");
    case COHERENCE_SCOPE: return has(text, " scope:SCOPE_SYS");
    case COHERENCE_DLC: return has(text, " dlc");
    default: return has(text, " glc") && !has(text, " slc"); /* so are atomics of all scopes but the smallest */
    }
}

/* An atomic whose scope is the workgroup. gfx90a and RDNA3 do not tell. */
static bool for_group(Coherence c, const char *text, bool atomic)
{
    switch (c) {
    case COHERENCE_SC: return !atomic && has(text, " sc0") && !has(text, " sc1");
    case COHERENCE_SCOPE: return !has(text, " scope:SCOPE_DEV") && !has(text, " scope:SCOPE_SYS");
    default: return false;
    }
}

static bool acquires(Coherence c, const char *text)
{
    switch (c) {
    case COHERENCE_SC: return starts(text, "buffer_inv") && has(text, " sc1");
    case COHERENCE_SCOPE: return starts(text, "global_inv") && !for_group(c, text, false);
    default: return starts(text, "buffer_wbinvl1") || starts(text, "buffer_gl1_inv");
    }
}

u16 sync_of(Coherence c, const Inst *i, const char *text)
{
    u8 family = i->row->family, kind = i->row->detail[2];
    if (c == COHERENCE_SC && starts(text, "buffer_wbl2") && has(text, " sc1"))
        return SYNC_RELEASE;
    if (acquires(c, text))
        return SYNC_ACQUIRE;
    if (!touches_memory(i->row) || family == FAMILY_SCRATCH)
        return 0;
    if (kind == ACCESS_ATOMIC) {
        u8 op = i->row->detail[1];
        bool extreme = op >= ATOMIC_SMIN && op <= ATOMIC_UMAX;
        bool compares = op == ATOMIC_CMPSWAP || op == ATOMIC_FCMPSWAP;
        bool returns = family == FAMILY_BUFFER ? i->sc0 : i->dst != 0xffff;
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
 * right behind the access that it belongs to. A fence stands where the source has it, and one of a barrier waits for
 * stores first: of an access that none follows at once nothing is known. */
bool acquires_nearby(const Program *p, u32 k)
{
    u32 next = k + 1;
    while (next < p->count && starts(p->text + p->code[next].text, "s_waitcnt "))
        next++;
    return next + 1 < p->count && starts(p->text + p->code[next].text, "buffer_gl0_inv") &&
           !starts(p->text + p->code[next + 1].text, "buffer_gl1_inv");
}
