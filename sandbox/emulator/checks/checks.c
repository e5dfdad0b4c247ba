/* The checks of a worker and of its workgroups: made, started, ended, and asked around each instruction. */
#include "checks/checks.h"

#include <stdlib.h>

#include "checks/races/happens_before.h"
#include "checks/races/races.h"
#include "checks/uninit/propagate.h"
#include "checks/uninit/registers.h"

enum { LDS_PLACES = 256 }; /* through which waves signal; a table of so many for each workgroup */

bool checks_create(Worker *k, Memory *m, const Dispatch *d)
{
    if (!d->check_memory && !d->check_races)
        return true;
    k->checks = calloc(1, sizeof *k->checks);
    if (!k->checks)
        return false;
    k->checks->annotations = annotations_of(d->program);
    k->checks->reads_arguments = calloc(d->program->count + 1, 1);
    if (d->check_races)
        k->checks->races = races_create(m, d, k->checks->annotations);
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
        g->wave[n].uninit = NULL;
    }
    if (k->checks->races)
        happens_before_start(k->checks->races, g, waves);
}

void checks_group_barrier(GroupShadow *g, const Worker *k)
{
    if (g && k->checks->races)
        happens_before_barrier(k->checks->races, g);
}

void checks_gather(const Worker *k, Outcome *out)
{
    if (k->checks)
        out->races_in_part |= races_in_part(k->checks->races) || overlap_in_part(k->dispatch->overlap);
    findings_gather(k, out);
}

bool checks_follow(const Wave *w)
{
    return w->shadow && (w->worker->checks->races || uninit_pending(w));
}

void checks_before(Wave *w, const Inst *i)
{
    uninit_before(w, i, &w->worker->checks->annotations[i - w->program->code]);
}

void checks_after(Wave *w, const Inst *i)
{
    if (w->worker->checks->races)
        races_after(w, i);
}
