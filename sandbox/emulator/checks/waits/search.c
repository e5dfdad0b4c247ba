/*
 * Whoever follows every instruction of every wave pays for it, so the waits of a wave are followed only where this search
 * finds a path on which one may be missing. Compilers wait on all paths, so that of their code none is left.
 * A called function waits for everything when it begins and before it returns, as compilers have it.
 */
#include "checks/waits/search.h"

#include <stdlib.h>

#include "checks/waits/outstanding.h"

typedef struct {
    const Program *p;
    const Annotation *annotations;
    Outstanding **before;    /* of each instruction where paths begin or meet, once one was followed there */
    u8 *meets;               /* of each instruction: paths begin or meet there */
    u32 *list;               /* of such, still to be followed */
    u8 *listed;
    u32 list_count;
    u64 steps;
    u32 found;
    bool failed;
} Search;

static bool ends_path(const Inst *i)
{
    const char *name = i->row->mnemonic;
    return !strcmp(name, "s_endpgm") || !strcmp(name, "s_branch") || !strncmp(name, "s_setpc", 7);
}

static bool calls(const Inst *i)
{
    return !strncmp(i->row->mnemonic, "s_swappc", 8) || !strncmp(i->row->mnemonic, "s_call", 6);
}

static void reach(Search *s, u32 at, const Outstanding *with)
{
    if (at >= s->p->count)
        return;
    bool first = !s->before[at];
    if (first && !(s->before[at] = calloc(1, sizeof *with))) {
        s->failed = true;
        return;
    }
    bool changed = outstanding_merge(s->before[at], with);
    if ((first || changed) && !s->listed[at]) {
        s->listed[at] = 1;
        s->list[s->list_count++] = at;
    }
}

static void look_at(Search *s, Outstanding *now, u32 at)
{
    const Inst *i = &s->p->code[at];
    const Annotation *n = &s->annotations[at];
    bool reads;
    if (outstanding_wait(now, s->p, i))
        return;
    for (const Operation *op; (op = outstanding_conflict(now, s->p, n, i, ~0ull, &reads));) {
        s->found |= EARLY_USE;
        outstanding_forget(now, op->inst);
    }
    if (outstanding_may_read_moved(now, i))
        s->found |= EARLY_IN_LDS;
    for (u32 k = 0; outstanding_passes_barrier(i) && k < now->count; k++)
        if (!now->of[k].count)
            s->found |= EARLY_BARRIER;
    if (calls(i))
        now->count = 0;
    outstanding_start(now, s->p, n, at, ~0ull, GOES_TO_MEMORY | GOES_TO_LDS);
}

static void follow(Search *s, u32 from)
{
    static _Thread_local Outstanding now; /* too large for a stack */
    now = *s->before[from];
    for (u32 at = from; at < s->p->count; at++) {
        const Inst *i = &s->p->code[at];
        if (at != from && s->meets[at]) {
            reach(s, at, &now);
            return;
        }
        s->steps++;
        look_at(s, &now, at);
        if (i->row->family == FAMILY_BRANCH && !calls(i))
            reach(s, i->target, &now);
        if (ends_path(i))
            return;
    }
}

static void mark_meetings(Search *s)
{
    const Program *p = s->p;
    s->meets[0] = 1;
    for (u32 at = 0; at < p->count; at++) {
        const Inst *i = &p->code[at];
        if (i->row->family == FAMILY_BRANCH && i->target < p->count)
            s->meets[i->target] = 1;
        if (i->row->family == FAMILY_BRANCH || ends_path(i))
            s->meets[at + 1] = 1;
    }
}

static bool create(Search *s)
{
    u32 room = s->p->count + 2;
    s->before = calloc(room, sizeof *s->before);
    s->meets = calloc(room, 1);
    s->list = calloc(room, sizeof *s->list);
    s->listed = calloc(room, 1);
    return s->before && s->meets && s->list && s->listed;
}

static void destroy(Search *s)
{
    for (u32 at = 0; s->before && at < s->p->count; at++)
        free(s->before[at]);
    free(s->before);
    free(s->meets);
    free(s->list);
    free(s->listed);
}

/* A path that a branch does not reach begins at an entry: of a kernel, or of a function. */
static void follow_all(Search *s)
{
    enum { STEPS_EACH = 256 };
    static const Outstanding nothing;
    for (u32 root = 0; root < s->p->count; root++) {
        if (!s->meets[root] || s->before[root])
            continue;
        reach(s, root, &nothing);
        while (s->list_count && !s->failed && s->steps < STEPS_EACH * (u64)s->p->count + STEPS_EACH) {
            u32 at = s->list[--s->list_count];
            s->listed[at] = 0;
            follow(s, at);
        }
    }
}

u32 waits_search(const Program *p, const Annotation *annotations)
{
    Search s = {.p = p, .annotations = annotations};
    if (p->count && create(&s)) {
        mark_meetings(&s);
        follow_all(&s);
    }
    destroy(&s);
    return s.found;
}
