/*
 * A register that no instruction has set holds what another wave has left there. Whether one may be read is searched
 * for once, along all paths from the entry, without looking at lanes: what one lane sets counts as set. In code of
 * compilers little is left, mostly masks and upper halves whose value decides nothing. Only these registers are marked,
 * and followed as unset bits of memory are.
 *
 * Called functions are left out. What they set loses its mark when they do.
 */
#include "checks/uninit/entry.h"

#include <stdlib.h>

#include "checks/races/annotation_operands.h"
#include "checks/uninit/registers.h"
#include "run/kernel_code.h"

enum { SET_WORDS = (REGISTER_NUMBERS + 63) / 64 };
typedef struct { u64 bits[SET_WORDS]; } RegisterSet;

typedef struct {
    const Program *p;
    const Annotation *annotations;
    RegisterSet *before;     /* of each instruction where paths meet: what may be unset there */
    u8 *meets, *listed;
    u32 *list;               /* of such, still to be followed */
    u32 list_count;
    u32 reader[REGISTER_NUMBERS]; /* an instruction that reads the register too early, or ~0 */
} Search;

static bool has(const RegisterSet *s, u32 reg) { return s->bits[reg / 64] >> reg % 64 & 1; }
static void drop(RegisterSet *s, u32 reg) { s->bits[reg / 64] &= ~(1ull << reg % 64); }

static bool named(const Inst *i, const char *with) { return !strncmp(i->row->mnemonic, with, strlen(with)); }
static bool calls(const Inst *i) { return named(i, "s_swappc") || named(i, "s_call"); }
static bool ends_path(const Inst *i)
{
    return named(i, "s_endpgm") || named(i, "s_setpc") || !strcmp(i->row->mnemonic, "s_branch");
}

/* Those that waves find set: user data, the workgroup's numbers, work-items. Other names are not plain registers. */
static RegisterSet unset_at_entry(const Dispatch *d)
{
    enum { PLAIN_SCALARS = 102 };
    RegisterSet s;
    memset(&s, 0xff, sizeof s);
    for (u32 reg = 0; reg < SET_WORDS * 64u; reg++) {
        bool plain = reg < PLAIN_SCALARS ? reg >= kernel_first_scalars(d) : reg == SGPR_VCC || reg == SGPR_VCC + 1;
        if (reg == FIRST_VGPR || reg >= REGISTER_NUMBERS || (reg < FIRST_VGPR && !plain))
            drop(&s, reg);
    }
    return s;
}

static void read_early(Search *s, const RegisterSet *now, u32 reg, u32 at)
{
    if (reg < REGISTER_NUMBERS && has(now, reg) && at < s->reader[reg])
        s->reader[reg] = at;
}

static void look_at(Search *s, RegisterSet *now, u32 at)
{
    const Annotation *n = &s->annotations[at];
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].read && r < n->operand[k].count; r++)
            read_early(s, now, n->operand[k].first + r, at);
    if (named(&s->p->code[at], "s_cbranch_vcc"))
        read_early(s, now, SGPR_VCC, at);
    for (u32 k = 0; k < n->operands; k++)
        for (u32 r = 0; n->operand[k].result && r < n->operand[k].count; r++)
            drop(now, n->operand[k].first + r);
}

static void reach(Search *s, u32 at, const RegisterSet *with)
{
    bool changed = false;
    for (u32 k = 0; at < s->p->count && k < SET_WORDS; k++) {
        changed |= (with->bits[k] & ~s->before[at].bits[k]) != 0;
        s->before[at].bits[k] |= with->bits[k];
    }
    if (!changed || s->listed[at])
        return;
    s->listed[at] = 1;
    s->list[s->list_count++] = at;
}

static void follow(Search *s, u32 from)
{
    RegisterSet now = s->before[from];
    for (u32 at = from; at < s->p->count; at++) {
        const Inst *i = &s->p->code[at];
        if (at != from && s->meets[at]) {
            reach(s, at, &now);
            return;
        }
        look_at(s, &now, at);
        if (i->row->family == FAMILY_BRANCH && !calls(i))
            reach(s, i->target, &now);
        if (ends_path(i))
            return;
    }
}

static void mark_meetings(Search *s)
{
    for (u32 at = 0; at < s->p->count; at++) {
        const Inst *i = &s->p->code[at];
        if (i->row->family == FAMILY_BRANCH && i->target < s->p->count)
            s->meets[i->target] = 1;
    }
}

static EarlyReads *reads_found(const Search *s)
{
    EarlyReads *reads = calloc(1, sizeof *reads);
    for (u32 reg = 0; reads && reg < REGISTER_NUMBERS; reg++)
        if (s->reader[reg] != ~0u) {
            reads->of[reads->count].reg = (u16)reg;
            reads->of[reads->count++].inst = s->reader[reg];
        }
    return reads;
}

EarlyReads *entry_early_reads(const Dispatch *d, const Annotation *annotations)
{
    const Program *p = d->program;
    u64 offset = d->kernel.entry - p->address;
    u32 entry = offset < p->bytes ? p->index_of[offset / 4] : p->count;
    Search s = {.p = p, .annotations = annotations};
    EarlyReads *reads = NULL;
    s.before = calloc(p->count + 1, sizeof *s.before);
    s.meets = calloc(p->count + 1, 1);
    s.listed = calloc(p->count + 1, 1);
    s.list = calloc(p->count + 1, sizeof *s.list);
    memset(s.reader, 0xff, sizeof s.reader);
    if (s.before && s.meets && s.listed && s.list) {
        RegisterSet unset = unset_at_entry(d);
        mark_meetings(&s);
        reach(&s, entry, &unset);
        while (s.list_count) {
            u32 at = s.list[--s.list_count];
            s.listed[at] = 0;
            follow(&s, at);
        }
        reads = reads_found(&s);
    }
    free(s.before);
    free(s.meets);
    free(s.listed);
    free(s.list);
    return reads;
}

/* ---- marks ---- */

/* What a wide store has next to set registers is padding of a vector, as in structs of memory. */
static void mark(GroupShadow *g, u32 wave, const EarlyReads *reads, const Dispatch *d, const u32 *workgroup)
{
    Uninit *t = g->wave[wave].uninit = calloc(1, sizeof *t);
    const Program *p = d->program;
    for (u32 k = 0; t && k < reads->count; k++) {
        u32 reg = reads->of[k].reg;
        Origin from = {.load = {.kind = OUTCOME_UNINITIALISED_READ, .pc = p->address + p->offset_of[reads->of[k].inst],
                                .wave = wave, .space = SPACE_REGISTER, .address = reg, .bytes = 4}};
        memcpy(from.load.workgroup, workgroup, sizeof from.load.workgroup);
        uninit_set(t, reg, ~0ull, ~0u, UNDEFINED | PARTLY_DEFINED, uninit_origin(&t->origins, &from));
    }
}

void entry_mark_unset(GroupShadow *g, const EarlyReads *reads, const Dispatch *d)
{
    u64 plane = (u64)d->workgroups[0] * d->workgroups[1];
    const u32 workgroup[3] = {(u32)(g->number % d->workgroups[0]), (u32)(g->number % plane / d->workgroups[0]),
                              (u32)(g->number / plane)};
    for (u32 n = 0; reads->count && n < g->wave_count; n++)
        mark(g, n, reads, d, workgroup);
}
