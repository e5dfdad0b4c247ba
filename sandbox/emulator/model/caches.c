#include "model/caches.h"

#include <stdlib.h>
#include <string.h>

/* ---- set-associative, in the order of use: the first line of a set is the youngest ---- */

bool cache_create(Cache *c, u64 bytes, u32 ways)
{
    *c = (Cache){.sets = bytes / LINE_BYTES / ways, .ways = ways};
    c->mask = c->sets & (c->sets - 1) ? 0 : c->sets - 1;
    c->lines = calloc(c->sets * ways, sizeof *c->lines);
    return c->lines != NULL;
}

void cache_destroy(Cache *c)
{
    free(c->lines);
    c->lines = NULL;
}

/* Hardware hashes addresses, so that powers of two do not all meet in one set. */
static CacheLine *set_of(const Cache *c, u64 line)
{
    u64 mixed = line ^ line >> 11 ^ line >> 23;
    return &c->lines[(c->mask ? mixed & c->mask : mixed % c->sets) * c->ways];
}

void cache_prefetch(const Cache *c, u64 line)
{
    const CacheLine *set = set_of(c, line);
    __builtin_prefetch(set, 1);
    __builtin_prefetch(set + c->ways / 2, 1);
}

CacheLine cache_touch(Cache *c, u64 line, u8 sectors, bool written, CacheLine *out)
{
    CacheLine *set = set_of(c, line);
    u32 at = 0;
    while (at < c->ways - 1 && (set[at].line != line || !set[at].valid))
        at++;
    CacheLine before = set[at];
    *out = (CacheLine){0};
    if (!before.valid || before.line != line) {
        *out = before;
        before = (CacheLine){.line = line};
    }
    CacheLine after = before;
    if (written)
        after.dirty = (after.dirty | sectors) & ALL_SECTORS;
    bool fetched = !written && (before.valid & sectors) != sectors;
    after.valid = (before.valid | (fetched ? ALL_SECTORS : sectors)) & ALL_SECTORS;
    memmove(set + 1, set, at * sizeof *set);
    set[0] = after;
    return before;
}

CacheLine cache_peek(const Cache *c, u64 line)
{
    const CacheLine *set = set_of(c, line);
    for (u32 at = 0; at < c->ways; at++)
        if (set[at].valid && set[at].line == line)
            return set[at];
    return (CacheLine){0};
}

void cache_forget(Cache *c, u64 line)
{
    CacheLine *set = set_of(c, line);
    for (u32 at = 0; at < c->ways; at++)
        if (set[at].valid && set[at].line == line)
            set[at].valid = 0;
}

void cache_empty(Cache *c, void (*tell)(void *context, const CacheLine *line), void *context)
{
    for (u64 n = 0; n < c->sets * c->ways; n++) {
        if (c->lines[n].dirty)
            tell(context, &c->lines[n]);
        c->lines[n] = (CacheLine){0};
    }
}

/* ---- caches of the process ---- */

u32 caches_scalar_count(const GpuShape *s) { return s->clusters * ((s->cus_per_cluster + 1) / 2); }

static void destroy_kind(Cache *c, u32 count)
{
    for (u32 n = 0; c && n < count; n++)
        cache_destroy(&c[n]);
    free(c);
}

static Cache *caches_of_a_kind(u32 count, u64 bytes, u32 ways)
{
    Cache *c = calloc(count, sizeof *c);
    for (u32 n = 0; c && n < count; n++)
        if (!cache_create(&c[n], bytes, ways)) {
            destroy_kind(c, count);
            return NULL;
        }
    return c;
}

Caches *caches_create(const char *arch)
{
    const GpuShape *s = shapes_find(arch);
    Caches *c = s ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    c->shape = s;
    c->l2 = caches_of_a_kind(s->l2_count, s->l2_bytes, L2_WAYS);
    c->scalar = caches_of_a_kind(caches_scalar_count(s), SCALAR_CACHE_BYTES, L2_WAYS);
    c->gl1 = s->gl1_bytes ? caches_of_a_kind(s->clusters, s->gl1_bytes, GL1_WAYS) : NULL;
    bool ok = c->l2 && c->scalar && (c->gl1 || !s->gl1_bytes);
    if (ok && s->mall_mib)
        ok = cache_create(&c->mall, (u64)s->mall_mib << 20, MALL_WAYS);
    if (ok)
        return c;
    caches_destroy(c);
    return NULL;
}

void caches_destroy(Caches *c)
{
    if (!c)
        return;
    destroy_kind(c->l2, c->shape->l2_count);
    destroy_kind(c->gl1, c->shape->clusters);
    destroy_kind(c->scalar, caches_scalar_count(c->shape));
    cache_destroy(&c->mall);
    free(c);
}
