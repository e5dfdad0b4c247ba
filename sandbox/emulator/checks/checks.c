/* The checks of a worker and of its workgroups: made, started, ended, and asked around each instruction. */
#include "checks/checks.h"

#include <stdlib.h>

#include "checks/races/happens_before.h"
#include "checks/races/races.h"
#include "checks/uninit/entry.h"
#include "checks/uninit/private.h"
#include "checks/uninit/propagate.h"
#include "checks/uninit/registers.h"
#include "checks/waits/search.h"
#include "checks/waits/waits.h"

enum { LDS_PLACES = 256 }; /* through which waves signal; a table of so many for each workgroup */

static Races *make_races(Memory *m, const Dispatch *d, const Annotation *annotations)
{
    Races *r = races_create(m, d, annotations);
    if (!r)
        return NULL;
    r->sample = sample_create(d->workgroups, d->races_every, d->races_seed);
    r->own_group_only = r->sample.blocks && annotations_communicate(d->program);
    return r;
}

bool checks_create(Worker *k, Memory *m, const Dispatch *d)
{
    if (!d->check_memory && !d->check_races)
        return true;
    k->checks = calloc(1, sizeof *k->checks);
    if (!k->checks)
        return false;
    k->checks->annotations = annotations_of(d->program);
    k->checks->reads_arguments = calloc(d->program->count + 1, 1);
    u32 early = k->checks->annotations ? k->checks->annotations[d->program->count].early : 0;
    k->checks->waits = early & EARLY_USE || (early && d->check_races); /* LDS is followed by the check for races */
    if (d->check_races)
        k->checks->races = make_races(m, d, k->checks->annotations);
    if (d->check_races && k->checks->annotations)
        k->checks->early_reads = entry_early_reads(d, k->checks->annotations);
    return k->checks->annotations && k->checks->reads_arguments && (!d->check_races || k->checks->races);
}

void checks_destroy(Worker *k)
{
    free(k->findings);
    k->findings = NULL;
    if (!k->checks)
        return;
    races_destroy(k->checks->races);
    free(k->checks->reads_arguments);
    free(k->checks->early_reads);
    free(k->checks);
    k->checks = NULL;
}

bool checks_group_create(GroupShadow **out, const Worker *k, u32 lds_bytes)
{
    if (!k->checks)
        return true;
    GroupShadow *g = *out = calloc(1, sizeof *g);
    if (!g)
        return false;
    g->lds_bytes = lds_bytes;
    g->lds_unset = malloc(lds_bytes + 1);
    g->lds_bits = malloc(lds_bytes + 1);
    if (k->checks->races) {
        g->lds_cells = calloc(lds_bytes / 4 + 1, sizeof *g->lds_cells);
        g->lds_sync = happens_before_table_create(lds_bytes / 4 < LDS_PLACES ? lds_bytes / 4 : LDS_PLACES);
    }
    return g->lds_unset && g->lds_bits && (!k->checks->races || (g->lds_cells && g->lds_sync));
}

void checks_group_destroy(GroupShadow **shadow)
{
    GroupShadow *g = *shadow;
    if (!g)
        return;
    for (u32 n = 0; n < MAX_GROUP_WAVES; n++) {
        uninit_destroy(g->wave[n].uninit);
        waits_destroy(&g->wave[n]);
        private_destroy(&g->wave[n]);
        happens_before_destroy(&g->wave[n].happens_before);
    }
    happens_before_table_destroy(g->lds_sync);
    free(g->lds_cells);
    free(g->lds_unset);
    free(g->lds_bits);
    free(g);
    *shadow = NULL;
}

void checks_group_start(GroupShadow *g, const Worker *k, u64 number, u32 waves)
{
    if (!g)
        return;
    g->number = number;
    g->wave_count = waves;
    memset(g->lds_unset, LDS_NEVER_WRITTEN, g->lds_bytes);
    g->lds_origins.count = 0;
    g->lds_left = g->lds_bytes;
    for (u32 n = 0; n < MAX_GROUP_WAVES; n++) {
        uninit_destroy(g->wave[n].uninit);
        waits_destroy(&g->wave[n]);
        private_destroy(&g->wave[n]);
        g->wave[n].uninit = NULL;
    }
    Races *r = k->checks->races;
    g->raced = r && sample_has(&r->sample, number);
    if (!g->raced)
        return;
    r->followed++;
    happens_before_start(r, g, waves);
    if (k->checks->early_reads)
        entry_mark_unset(g, k->checks->early_reads, k->dispatch);
}

void checks_group_barrier(GroupShadow *g, const Worker *k)
{
    if (g && g->raced)
        happens_before_barrier(k->checks->races, g);
}

void checks_gather(const Worker *k, Outcome *out)
{
    if (k->checks) {
        out->race_groups += k->checks->races ? k->checks->races->followed : 0;
        out->race_own_group |= k->checks->races && k->checks->races->own_group_only;
        out->races_in_part |= races_in_part(k->checks->races) || overlap_in_part(k->dispatch->overlap);
    }
    findings_gather(k, out);
}

bool checks_follow(const Wave *w)
{
    return w->shadow && (w->shadow->raced || w->worker->checks->waits || uninit_pending(w));
}

void checks_before(Wave *w, const Inst *i)
{
    if (w->worker->checks->waits)
        waits_before(w, i);
    uninit_before(w, i, &w->worker->checks->annotations[i - w->program->code]);
}

void checks_after(Wave *w, const Inst *i)
{
    if (w->shadow->raced)
        races_after(w, i);
}
