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

/* ---- vL1D: the time of the last use of each line, and buckets to find a line in ---- */

enum { NOBODY = 0xffff, L1_SETS = 4 };

static u32 bucket_of(u64 line) { return (u32)(line * 0x9e3779b97f4a7c15ull >> 55); }

void l1_reset(L1 *c, u32 ways)
{
    memset(c->bucket, 0xff, sizeof c->bucket);
    memset(c->line, 0xff, sizeof c->line);
    memset(c->used, 0, sizeof c->used);
    memset(c->expected, 0, sizeof c->expected);
    c->ways = ways;
    c->now = 0;
}

static void forget(L1 *c, u32 slot)
{
    if (c->line[slot] == ~0ull)
        return;
    u16 *link = &c->bucket[bucket_of(c->line[slot])];
    while (*link != slot)
        link = &c->chain[*link];
    *link = c->chain[slot];
}

/* The slot of the set that was used longest ago: in streams, the one after the last that was taken. */
static u32 oldest(L1 *c, u32 set)
{
    const u32 *used = &c->used[set * L1_WAYS];
    u32 earliest = used[0], way = c->expected[set];
    for (u32 k = 1; k < c->ways; k++)
        earliest = used[k] < earliest ? used[k] : earliest;
    while (used[way] != earliest)
        way = way + 1 < c->ways ? way + 1 : 0;
    c->expected[set] = way + 1 < c->ways ? way + 1 : 0;
    return set * L1_WAYS + way;
}

bool l1_touch(L1 *c, u64 line)
{
    if (++c->now == 0) { /* after four thousand million uses all count as equally old */
        memset(c->used, 0, sizeof c->used);
        c->now = 1;
    }
    u16 *bucket = &c->bucket[bucket_of(line)];
    for (u32 slot = *bucket; slot != NOBODY; slot = c->chain[slot])
        if (c->line[slot] == line) {
            c->used[slot] = c->now;
            return true;
        }
    u32 slot = oldest(c, (u32)(line ^ line >> 7) % L1_SETS);
    forget(c, slot);
    c->line[slot] = line;
    c->used[slot] = c->now;
    c->chain[slot] = *bucket;
    *bucket = (u16)slot;
    return false;
}
