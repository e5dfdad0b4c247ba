/* What is known of each instruction before it runs: what it does with an uninitialised value, and which accesses it orders. */
#include "checks/races/annotations.h"

#include <pthread.h>
#include <stdlib.h>

#include "checks/races/coherence.h"
#include "checks/waits/search.h"

/* Prefixes of vector and scalar instructions that do not compute. */
static const struct { const char *with; Passage passage; } passages[] = {
    {"v_mov_b16", PASS_COMPUTED}, {"v_mov_b", PASS_CARRIED}, {"v_accvgpr", PASS_CARRIED}, {"s_mov_b", PASS_CARRIED},
    {"v_pk_mov_b32", PASS_CARRIED}, {"s_lsh", PASS_COMPUTED}, {"s_ashr", PASS_COMPUTED}, {"s_bfe", PASS_COMPUTED},
    {"s_add", PASS_COMPUTED}, {"s_sub", PASS_COMPUTED}, {"s_mul", PASS_COMPUTED}, {"s_min_", PASS_COMPUTED},
    {"s_max_", PASS_COMPUTED}, {"s_sext", PASS_COMPUTED}, {"s_pack", PASS_COMPUTED}, {"s_bcnt", PASS_COMPUTED},
    {"s_ff", PASS_COMPUTED}, {"s_brev", PASS_COMPUTED}, {"s_cmp", PASS_COMPUTED}, {"s_bitset", PASS_LEFT},
    {"v_cndmask_b", PASS_CHOSEN}, {"s_cselect", PASS_CHOSEN}, {"v_read", PASS_LANE}, {"v_writelane", PASS_TO_LANE},
    {"v_permlane", PASS_EXCHANGED}, {"v_swap", PASS_EXCHANGED}, {"ds_bpermute", PASS_EXCHANGED},
    {"ds_permute", PASS_EXCHANGED}, {"ds_swizzle", PASS_EXCHANGED}, {"v_cmpx", PASS_USED}, {"v_movrel", PASS_USED},
};

static bool is_mask_logic(const char *name)
{
    static const char *const logic[] = {"s_and", "s_or", "s_xor", "s_xnor", "s_nand", "s_nor", "s_not"};
    for (size_t k = 0; k < sizeof logic / sizeof *logic; k++)
        if (!strncmp(name, logic[k], strlen(logic[k])))
            return !strstr(name, "saveexec") && !strstr(name, "wrexec");
    return false;
}

static Passage passage_of(const Inst *i, const char *name)
{
    if (is_dual(i))
        return PASS_DUAL;
    for (size_t k = 0; k < sizeof passages / sizeof *passages; k++)
        if (!strncmp(name, passages[k].with, strlen(passages[k].with)))
            return passages[k].passage;
    if (i->row->family == FAMILY_SALU && is_mask_logic(name))
        return PASS_MASK;
    if (i->row->family == FAMILY_VALU)
        return PASS_COMPUTED;
    return coherence_touches_memory(i->row) && i->row->detail[2] == ACCESS_STORE ? PASS_STORED : PASS_USED;
}

/*
 * ---- releases that are mere waits ----
 *
 * gfx90a and RDNA have no instruction for a release: it is a wait for stores, which other code needs as well. What
 * follows distinguishes them: the fence's other half, the signal itself, or a barrier, which on RDNA waits anyway.
 */

/* Likewise acquires: on RDNA3 the instructions after a load determine the scope of its acquire. */
static void annotate_near_acquires(const Program *p, Annotation *annotations)
{
    for (u32 k = 0; k < p->count; k++) {
        bool loads = p->code[k].row->detail[2] == ACCESS_LOAD || annotations[k].sync & SYNC_RETURNS;
        if (annotations[k].sync & SYNC_ACCESS && loads && coherence_acquires_nearby(p, k))
            annotations[k].sync |= SYNC_NEAR;
    }
}

static bool waits(const char *text) { return text_starts(text, "s_wait"); }

static bool waits_for_stores(const Program *p, const char *text)
{
    if (p->generation >= GFX12)
        return text_starts(text, "s_wait_storecnt") && text_has(text, " 0x0");
    if (p->generation >= GFX11)
        return text_starts(text, "s_waitcnt_vscnt") && text_has(text, " 0x0");
    return text_starts(text, "s_waitcnt") && text_has(text, "vmcnt(0)");
}

/* `n` reads a register that `of` loads. */
static bool reads_any(const Annotation *n, const Annotation *of)
{
    for (u32 k = 0; k < of->operands; k++)
        for (u32 r = 0; of->operand[k].result && r < n->operands; r++)
            if (n->operand[r].read && n->operand[r].first < of->operand[k].first + of->operand[k].count &&
                of->operand[k].first < n->operand[r].first + n->operand[r].count)
                return true;
    return false;
}

/* Likewise, where it is not known what an instruction reads and what it writes. */
static bool names_any(const Annotation *n, const Annotation *of)
{
    for (u32 k = 0; k < of->operands; k++)
        for (u32 r = 0; of->operand[k].result && r < n->operands; r++)
            if (n->operand[r].first < of->operand[k].first + of->operand[k].count &&
                of->operand[k].first < n->operand[r].first + n->operand[r].count)
                return true;
    return false;
}

/* The wait is for a value that the next instruction reads. */
static bool awaits_a_load(const Program *p, const Annotation *annotations, u32 wait, u32 next)
{
    enum { BACK = 32 };
    for (u32 k = wait; k-- > 0 && wait - k < BACK;) {
        const char *text = p->text + p->code[k].text;
        if (p->code[k].row->family == FAMILY_BRANCH || (k + 1 < wait && waits_for_stores(p, text)))
            return false;
        if (coherence_touches_memory(p->code[k].row) && p->code[k].row->detail[2] != ACCESS_STORE &&
            names_any(&annotations[next], &annotations[k]))
            return true;
    }
    return false;
}

/* The first instruction from `at` on that accesses memory or ends the search. */
static u32 next_of_memory(const Program *p, u32 at)
{
    enum { AHEAD = 12 };
    for (u32 k = at; k < p->count && k < at + AHEAD; k++) {
        const Row *r = p->code[k].row;
        bool plain = r->family == FAMILY_VALU || r->family == FAMILY_SALU || (r->family == FAMILY_SMEM && r->detail[2] == ACCESS_LOAD) ||
                     waits(p->text + p->code[k].text) || text_starts(p->text + p->code[k].text, "s_nop") ||
                     text_starts(p->text + p->code[k].text, "s_delay_alu");
        if (!plain)
            return k;
    }
    return p->count;
}

/* A call's first wait, or that behind a volatile store. */
static bool belongs_elsewhere(const Program *p, const Annotation *annotations, u32 wait)
{
    const char *text = p->text + p->code[wait].text, *before = wait ? p->text + p->code[wait - 1].text : "";
    bool called = text_has(text, "expcnt(0)") || (waits(before) && text_has(before, "expcnt(0)"));
    bool after_volatile = wait && coherence_touches_memory(p->code[wait - 1].row) &&
                          p->code[wait - 1].row->detail[2] == ACCESS_STORE && annotations[wait - 1].sync & SYNC_SYSTEM;
    return called || after_volatile;
}

static u16 release_by_waiting(const Program *p, const Annotation *annotations, u32 wait)
{
    u32 next = wait + 1, memory;
    while (next < p->count && waits(p->text + p->code[next].text))
        next++;
    memory = next_of_memory(p, next);
    if (next == p->count || memory == p->count)
        return SYNC_WEAK;
    const char *text = p->text + p->code[memory].text;
    const Inst *i = &p->code[memory];
    if (annotations[memory].sync & SYNC_ACQUIRE)
        return SYNC_RELEASE;
    if (text_starts(text, "buffer_gl0_inv") || text_starts(text, "global_inv")) /* RDNA3 puts gl1 first in that case */
        return 0;
    bool chance = p->generation < GFX11 && awaits_a_load(p, annotations, wait, next);
    if (chance && !text_has(p->text + p->code[wait].text, "lgkmcnt(0)")) /* a fence waits for that as well */
        return SYNC_WEAK | SYNC_CHANCE;
    if (chance || belongs_elsewhere(p, annotations, wait))
        return SYNC_WEAK;
    bool signal = coherence_touches_memory(i->row) && i->row->family != FAMILY_SCRATCH && i->row->family != FAMILY_LDS &&
                  i->row->detail[2] != ACCESS_LOAD && !(annotations[memory].sync & (SYNC_GROUP | SYNC_SYSTEM));
    return signal ? SYNC_RELEASE : SYNC_WEAK;
}

static void annotate_releases(const Program *p, Annotation *annotations, Coherence c)
{
    for (u32 k = 0; c != COHERENCE_SC && k < p->count; k++)
        if (waits_for_stores(p, p->text + p->code[k].text))
            annotations[k].sync = release_by_waiting(p, annotations, k);
}

/* ---- loops that wait for a flag in LDS ---- */

enum { LONGEST_POLL = 24, LONGEST_SPILLING = 160 }; /* instructions; without optimisation loops spill registers */

static bool writes_any(const Annotation *n, AnnotatedOperand o)
{
    for (u32 k = 0; k < n->operands; k++)
        if (n->operand[k].result && n->operand[k].first < o.first + o.count &&
            o.first < n->operand[k].first + n->operand[k].count)
            return true;
    return false;
}

/* Without optimisation what an atomic loads goes through a variable of its own on the stack, by a flat address. */
static bool keeps_a_load(const Program *p, const Annotation *annotations, u32 first, u32 store)
{
    const Row *r = p->code[store].row;
    if (r->family != FAMILY_FLAT || r->detail[2] != ACCESS_STORE || annotations[store].operands != 2 ||
        annotations[store].sync & SYNC_ACCESS)
        return false;
    for (u32 n = store; n-- > first;)
        if (writes_any(&annotations[n], annotations[store].operand[1]))
            return p->code[n].row->family == FAMILY_FLAT && p->code[n].row->detail[2] == ACCESS_LOAD;
    return false;
}

static bool only_waits(const Program *p, const Annotation *annotations, u32 first, u32 last, bool *spills)
{
    *spills = false;
    for (u32 k = first; k <= last; k++) {
        const Row *r = p->code[k].row;
        bool private = r->family == FAMILY_SCRATCH || r->family == FAMILY_BUFFER || keeps_a_load(p, annotations, first, k);
        if (r->family == FAMILY_BARRIER || r->family == FAMILY_MFMA ||
            (coherence_touches_memory(r) && !private && r->detail[2] != ACCESS_LOAD))
            return false;
        *spills |= private || text_starts(p->text + p->code[k].text, "v_writelane"); /* masks of lanes, in turn spilled */
    }
    return *spills || last - first <= LONGEST_POLL;
}

/* The value of the load at `k` is compared or saved before anything else is done with it. */
static bool only_compared(const Program *p, const Annotation *annotations, u32 k, u32 last)
{
    for (u32 n = k + 1; n <= last; n++)
        if (reads_any(&annotations[n], &annotations[k]))
            return text_starts(p->text + p->code[n].text, "v_cmp") || keeps_a_load(p, annotations, k, n);
    return false;
}

/* The register is loop-invariant at `at`: the loop does not write it, or writes it from such registers only. */
static bool steady(const Program *p, const Annotation *annotations, u32 first, u32 last, u16 reg, u32 at, u32 depth)
{
    const AnnotatedOperand o = {.first = reg, .count = 1};
    for (u32 n = at; n-- > first;) {
        if (!writes_any(&annotations[n], o))
            continue;
        u8 family = p->code[n].row->family;
        bool same = depth && (family == FAMILY_VALU || family == FAMILY_SALU);
        for (u32 k = 0; same && k < annotations[n].operands; k++)
            for (u32 r = 0; same && annotations[n].operand[k].read && r < annotations[n].operand[k].count; r++)
                same = steady(p, annotations, first, last, (u16)(annotations[n].operand[k].first + r), n, depth - 1);
        return same;
    }
    for (u32 n = at; n <= last; n++)
        if (writes_any(&annotations[n], o))
            return false;
    return true;
}

static bool steady_address(const Program *p, const Annotation *annotations, u32 first, u32 last, u32 load)
{
    enum { STEPS = 4 };
    AnnotatedOperand address = annotations[load].operand[1];
    for (u32 r = 0; r < address.count; r++)
        if (!steady(p, annotations, first, last, (u16)(address.first + r), load, STEPS))
            return false;
    return true;
}

static void annotate_poll(const Program *p, Annotation *annotations, u32 k)
{
    annotations[k].sync |= p->code[k].row->family == FAMILY_LDS ? SYNC_ACCESS | SYNC_POLL : SYNC_POLL;
}

/* Where execution arrives from `at` on, following jumps only. */
static u32 past_jumps(const Program *p, u32 at)
{
    for (u32 n = 0; n < 4 && at < p->count && !strcmp(p->code[at].row->mnemonic, "s_branch"); n++)
        at = p->code[at].target;
    return at;
}

/* Compilers make `while (c) wait` into `if (c) do wait while (c)`: the same load before the loop, and a branch that
 * leaves the loop out. */
static void annotate_first_look(const Program *p, Annotation *annotations, u32 first, u32 last, u32 poll)
{
    bool skips = false, spills;
    for (u32 k = first; k-- > 0 && first - k <= LONGEST_POLL;) {
        const Inst *i = &p->code[k];
        if (!only_waits(p, annotations, k, k, &spills))
            return;
        skips |= i->row->family == FAMILY_BRANCH && past_jumps(p, i->target) == past_jumps(p, last + 1);
        if (skips && i->row == p->code[poll].row && annotations[k].operands == 2) {
            annotate_poll(p, annotations, k);
            return;
        }
    }
}

static bool may_poll(const Program *p, const Annotation *annotations, u32 k)
{
    u8 family = p->code[k].row->family;
    return (family == FAMILY_LDS || family == FAMILY_FLAT) && p->code[k].row->detail[2] == ACCESS_LOAD &&
           annotations[k].operands == 2;
}

/* A loop that also loads from elsewhere in every iteration does more than wait. */
static bool moves_on(const Program *p, const Annotation *annotations, u32 first, u32 last)
{
    for (u32 k = first; k < last; k++)
        if (may_poll(p, annotations, k) && !steady_address(p, annotations, first, last, k))
            return true;
    return false;
}

/* The compiler leaves a plain LDS load in a loop that changes neither memory nor its address only where the program
 * polls: an atomic load of LDS looks like any other. Without optimisation the address comes from memory each time. */
static void annotate_polls(const Program *p, Annotation *annotations)
{
    for (u32 last = 0; last < p->count; last++) {
        const Inst *branch = &p->code[last];
        u32 first = branch->target;
        bool spills;
        if (branch->row->family != FAMILY_BRANCH || first > last || last - first > LONGEST_SPILLING ||
            !only_waits(p, annotations, first, last, &spills) || (!spills && moves_on(p, annotations, first, last)))
            continue;
        for (u32 k = first; k < last; k++) {
            bool spilled = spills && (annotations[k].sync & SYNC_SYSTEM || only_compared(p, annotations, k, last));
            if (!may_poll(p, annotations, k) || !(spilled || steady_address(p, annotations, first, last, k)))
                continue;
            annotate_poll(p, annotations, k);
            annotate_first_look(p, annotations, first, last, k);
        }
    }
}

static Annotation *make_annotations(const Program *p)
{
    Annotation *annotations = calloc(p->count + 1, sizeof *annotations);
    Coherence c = coherence_of(p->arch);
    for (u32 k = 0; annotations && k < p->count; k++) {
        const char *text = p->text + p->code[k].text;
        Words words;
        if (operands_split(text, &words))
            annotation_operands_add(p, &words, &p->code[k], &annotations[k]);
        annotations[k].passage = (u8)passage_of(&p->code[k], words.mnemonic);
        annotations[k].sync = coherence_sync_of(c, &p->code[k], text);
    }
    if (annotations) {
        annotate_polls(p, annotations);
        annotate_releases(p, annotations, c);
        if (c == COHERENCE_DLC)
            annotate_near_acquires(p, annotations);
        annotations[p->count].early = (u8)waits_search(p, annotations);
    }
    return annotations;
}

/* `n` writes all that `of` does. */
static bool rewrites(const Annotation *n, const Annotation *of)
{
    for (u32 k = 0; k < of->operands; k++)
        for (u32 r = 0; of->operand[k].result && r < n->operands; r++)
            if (n->operand[r].result && n->operand[r].first <= of->operand[k].first &&
                n->operand[r].first + n->operand[r].count >= of->operand[k].first + of->operand[k].count)
                return true;
    return false;
}

/* The search follows branches, and ends where something else overwrites the registers. */
u32 annotations_first_use(const Program *p, const Annotation *annotations, u32 load)
{
    enum { MOST_STEPS = 256, MOST_PATHS = 16 };
    u32 path[MOST_PATHS] = {load + 1}, paths = 1;
    for (u32 n = 0, steps = 0; n < paths; n++)
        for (u32 k = path[n]; k < p->count && steps < MOST_STEPS; steps++) {
            const Inst *i = &p->code[k];
            if (reads_any(&annotations[k], &annotations[load]))
                return k;
            if (rewrites(&annotations[k], &annotations[load]) || text_starts(i->row->mnemonic, "s_endpgm") ||
                text_starts(i->row->mnemonic, "s_setpc"))
                break;
            if (i->row->family == FAMILY_BRANCH && paths < MOST_PATHS)
                path[paths++] = i->target;
            k = text_starts(i->row->mnemonic, "s_branch") ? p->count : k + 1;
        }
    return p->count;
}

const Annotation *annotations_of(const Program *p)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!*p->annotations)
        *p->annotations = make_annotations(p);
    pthread_mutex_unlock(&lock);
    return *p->annotations;
}

bool annotations_communicate(const Program *p)
{
    const Annotation *annotations = annotations_of(p);
    for (u32 k = 0; annotations && k < p->count; k++)
        if (annotations[k].sync & (SYNC_ACCESS | SYNC_POLL) && p->code[k].row->family != FAMILY_LDS)
            return true;
    return !annotations;
}
