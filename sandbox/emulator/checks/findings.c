/* The list of what checks found: one entry for each kind and instruction. */
#include "checks/findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine/fault.h"

static Finding *find_or_add(Findings *c, OutcomeKind kind, u64 pc, u64 partner_pc)
{
    for (u32 k = 0; k < c->count; k++) {
        Finding *f = &c->found[k];
        if (f->fault.kind == kind && f->fault.pc == pc && f->partner.pc == partner_pc) {
            f->count++;
            return f;
        }
    }
    if (c->count == MAX_FINDINGS)
        return NULL;
    c->found[c->count] = (Finding){.fault = {.kind = kind, .pc = pc}, .partner = {.pc = partner_pc}, .count = 1};
    return &c->found[c->count++];
}

/* An instruction reports lane by lane or register by register: that counts as one time. */
static void count_time(Worker *k, Finding *f)
{
    u64 *last = &k->findings->at[f - k->findings->found], now = k->clock - k->budget;
    if (f->count == 1 || *last != now)
        f->times++;
    *last = now;
}

Finding *findings_at(Worker *k, OutcomeKind kind, u64 pc, u64 partner_pc)
{
    if (!k->findings)
        k->findings = calloc(1, sizeof *k->findings);
    Finding *f = k->findings ? find_or_add(k->findings, kind, pc, partner_pc) : NULL;
    if (f)
        count_time(k, f);
    return f;
}

static u64 address_of(const Wave *w, const Inst *i)
{
    const Program *p = w->program;
    u64 at = (u64)(i - p->code) <= p->count ? (u64)(i - p->code) : (u64)(w->at - p->code); /* `i` may be a copy */
    return p->address + p->offset_of[at];
}

Fault findings_place(const Wave *w, const Inst *i, OutcomeKind kind, AddressSpace space, u32 lane, u64 address, u32 bytes,
               bool store)
{
    Fault f = {.kind = kind, .pc = address_of(w, i), .wave = w->index, .lane = lane, .space = space,
               .address = address, .bytes = bytes, .store = store};
    memcpy(f.workgroup, w->workgroup, sizeof f.workgroup);
    fault_callers(w, f.callers);
    return f;
}

Place findings_code_place(const Wave *w, const Inst *i)
{
    Place p = {.at = address_of(w, i)};
    fault_callers(w, p.callers);
    return p;
}

void findings_report(Wave *w, const Fault *fault, const Place *use)
{
    Finding *f = findings_at(w->worker, fault->kind, fault->pc, 0);
    if (!f || f->count > 1)
        return;
    f->fault = *fault;
    if (use) {
        f->use = use->at;
        memcpy(f->use_callers, use->callers, sizeof f->use_callers);
    }
}

void findings_report_overrun(Wave *w, const Inst *i, AddressSpace space, u32 lane, u64 address, u32 bytes, bool store, u32 lanes,
                    u64 off)
{
    Finding *f = findings_at(w->worker, OUTCOME_OUT_OF_BOUNDS, address_of(w, i), 0);
    if (!f)
        return;
    if (f->count == 1)
        f->fault = findings_place(w, i, OUTCOME_OUT_OF_BOUNDS, space, lane, address, bytes, store);
    f->lanes += lanes;
    f->off = off > f->off ? off : f->off;
}

static void name_instruction(const Program *p, Fault *f)
{
    u32 at = p->index_of[(f->pc - p->address) / 4];
    if (at < p->count)
        snprintf(f->instruction, sizeof f->instruction, "%s", p->text + p->code[at].text);
}

static u64 number_of(const Dispatch *d, const Finding *f)
{
    const u32 *at = f->fault.workgroup;
    return at[0] + d->workgroups[0] * (at[1] + (u64)d->workgroups[1] * at[2]);
}

/* `to` counts what `from`, of another thread, counts. The first of both is kept, whichever thread was faster. */
static void add_up(Findings *sum, Finding *to, const Finding *from, bool from_is_first)
{
    Finding both = from_is_first ? *from : *to;
    if (from_is_first)
        memcpy(both.fault.instruction, to->fault.instruction, sizeof both.fault.instruction);
    both.count = to->count - 1 + from->count;
    both.times = to->times + from->times;
    both.lanes = to->lanes + from->lanes;
    both.off = from->off > to->off ? from->off : to->off;
    if (!from_is_first) {
        *to = both;
        return;
    }
    u64 after = (u64)(sum->found + sum->count - (to + 1));
    memmove(to, to + 1, after * sizeof *to); /* behind those that its own thread found before it */
    sum->found[sum->count - 1] = both;
}

/* As one thread would have found them. */
static void sort_by_workgroup(const Dispatch *d, Findings *sum)
{
    for (u32 n = 1; n < sum->count; n++) {
        Finding moved = sum->found[n];
        u32 at = n;
        for (; at && number_of(d, &sum->found[at - 1]) > number_of(d, &moved); at--)
            sum->found[at] = sum->found[at - 1];
        sum->found[at] = moved;
    }
}

void findings_gather(const Worker *k, Outcome *out)
{
    if (!k->findings)
        return;
    if (!out->findings)
        out->findings = calloc(MAX_FINDINGS, sizeof *out->findings);
    if (!out->findings)
        return;
    static _Thread_local Findings sum; /* too large for a stack */
    memcpy(sum.found, out->findings, out->finding_count * sizeof *out->findings);
    sum.count = out->finding_count;
    for (u32 n = 0; n < k->findings->count; n++) {
        const Finding *from = &k->findings->found[n];
        Finding *to = find_or_add(&sum, from->fault.kind, from->fault.pc, from->partner.pc);
        if (to && to->count > 1) {
            add_up(&sum, to, from, number_of(k->dispatch, from) < number_of(k->dispatch, to));
        } else if (to) {
            *to = *from;
            name_instruction(k->dispatch->program, &to->fault);
        }
    }
    if (out->finding_count)
        sort_by_workgroup(k->dispatch, &sum);
    memcpy(out->findings, sum.found, sum.count * sizeof *sum.found);
    out->finding_count = sum.count;
}
