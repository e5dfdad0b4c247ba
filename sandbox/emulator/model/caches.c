#include "model/caches.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the lines ---- */

enum { HUGE_PAGE = 2 << 20 };

static u64 mapped_bytes(u64 lines)
{
    return (lines * sizeof(CacheLine) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE;
}

/* Lines are met in no order: on small pages the host looks for the page of nearly each of them. `mapping` is for
 * lines_unmap(). */
static CacheLine *lines_map(u64 lines, void **mapping)
{
    u64 bytes = mapped_bytes(lines);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    *mapping = at;
    u64 aligned = ((u64)(uintptr_t)at + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    (void)madvise((void *)(uintptr_t)aligned, bytes - HUGE_PAGE, MADV_HUGEPAGE); /* a kernel without them is slower */
    return (CacheLine *)(uintptr_t)aligned;
}

static void lines_unmap(void *mapping, u64 lines)
{
    if (mapping)
        munmap(mapping, mapped_bytes(lines));
}

/* ---- set-associative, in the order of use: the first line of a set is the youngest ---- */

static Cache cache_over(CacheLine *lines, u64 bytes, u32 ways)
{
    u64 sets = bytes / LINE_BYTES / ways;
    return (Cache){.lines = lines, .sets = sets, .mask = sets & (sets - 1) ? 0 : sets - 1, .ways = ways};
}

/* Hardware hashes addresses, so that powers of two do not all meet in one set. */
static u64 mixed_of(u64 line) { return line ^ line >> 11 ^ line >> 23; }

bool cache_in_part(const Cache *l2, u64 line)
{
    u64 pair = (mixed_of(line) & l2->mask) >> 1;
    return pair * 0x9e3779b97f4a7c15ull >> 61 == 0; /* one of SETS_OF */
}

static CacheLine *set_of(const Cache *c, u64 line)
{
    u64 mixed = mixed_of(line);
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

static u64 lines_of(u32 count, u64 bytes) { return count * (bytes / LINE_BYTES); }

/* `count` caches of a kind, whose lines follow each other from `*free_lines` on. */
static Cache *caches_of_a_kind(CacheLine **free_lines, u32 count, u64 bytes, u32 ways)
{
    Cache *c = calloc(count + 1, sizeof *c);
    for (u32 n = 0; c && n < count; n++, *free_lines += bytes / LINE_BYTES)
        c[n] = cache_over(*free_lines, bytes, ways);
    return c;
}

bool caches_can_be_in_part(const Caches *c)
{
    return c->l2->mask && !c->gl1 && (!c->mall.lines || c->mall.mask >= c->l2->mask);
}

Caches *caches_create(const char *arch)
{
    const GpuShape *s = shapes_find(arch);
    Caches *c = s ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    c->shape = s;
    u64 mall_bytes = (u64)s->mall_mib << 20;
    c->lines = lines_of(1, mall_bytes) + lines_of(s->l2_count, s->l2_bytes)
        + lines_of(caches_scalar_count(s), SCALAR_CACHE_BYTES) + lines_of(s->clusters, s->gl1_bytes);
    CacheLine *lines = lines_map(c->lines, &c->mapping);
    if (lines) {
        if (mall_bytes)
            c->mall = cache_over(lines, mall_bytes, MALL_WAYS);
        lines += lines_of(1, mall_bytes);
        c->l2 = caches_of_a_kind(&lines, s->l2_count, s->l2_bytes, L2_WAYS);
        c->scalar = caches_of_a_kind(&lines, caches_scalar_count(s), SCALAR_CACHE_BYTES, L2_WAYS);
        c->gl1 = s->gl1_bytes ? caches_of_a_kind(&lines, s->clusters, s->gl1_bytes, GL1_WAYS) : NULL;
    }
    if (lines && c->l2 && c->scalar && (c->gl1 || !s->gl1_bytes))
        return c;
    caches_destroy(c);
    return NULL;
}

void caches_destroy(Caches *c)
{
    if (!c)
        return;
    lines_unmap(c->mapping, c->lines);
    free(c->l2);
    free(c->gl1);
    free(c->scalar);
    free(c);
}
