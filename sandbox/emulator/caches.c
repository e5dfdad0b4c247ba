#include "caches.h"

#include <stdlib.h>
#include <string.h>

/* ---- set-associative, in the order of use: the first line of a set is the youngest ---- */

bool cache_create(Cache *c, u64 bytes, u32 ways)
{
    *c = (Cache){.sets = bytes / LINE_BYTES / ways, .ways = ways};
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
    return &c->lines[mixed % c->sets * c->ways];
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

/* ---- vL1D: a ring by age for each set, and buckets to find a line in ---- */

enum { NOBODY = 0xffff, L1_SETS = 4 };

static u32 bucket_of(u64 line) { return (u32)(line * 0x9e3779b97f4a7c15ull >> 55); }

void l1_reset(L1 *c, u32 ways)
{
    memset(c->bucket, 0xff, sizeof c->bucket);
    c->ways = ways;
    for (u32 set = 0; set < L1_SETS; set++) {
        u16 end = (u16)(L1_LINES + set), last = end;
        for (u32 k = 0; k < ways; k++) {
            u16 slot = (u16)(set * L1_WAYS + k);
            c->line[slot] = ~0ull;
            c->older[last] = slot;
            c->newer[slot] = last;
            last = slot;
        }
        c->older[last] = end;
        c->newer[end] = last;
    }
}

static void to_front(L1 *c, u16 slot)
{
    u16 end = (u16)(L1_LINES + slot / L1_WAYS), first = c->older[end];
    if (first == slot)
        return;
    c->older[c->newer[slot]] = c->older[slot];
    c->newer[c->older[slot]] = c->newer[slot];
    c->older[slot] = first;
    c->newer[first] = slot;
    c->older[end] = slot;
    c->newer[slot] = end;
}

static void forget(L1 *c, u16 slot)
{
    if (c->line[slot] == ~0ull)
        return;
    u16 *link = &c->bucket[bucket_of(c->line[slot])];
    while (*link != slot)
        link = &c->chain[*link];
    *link = c->chain[slot];
}

bool l1_touch(L1 *c, u64 line)
{
    u16 *bucket = &c->bucket[bucket_of(line)];
    for (u16 slot = *bucket; slot != NOBODY; slot = c->chain[slot])
        if (c->line[slot] == line) {
            to_front(c, slot);
            return true;
        }
    u32 set = (u32)(line ^ line >> 7) % L1_SETS;
    u16 slot = c->newer[L1_LINES + set]; /* the oldest */
    forget(c, slot);
    c->line[slot] = line;
    bucket = &c->bucket[bucket_of(line)];
    c->chain[slot] = *bucket;
    *bucket = slot;
    to_front(c, slot);
    return false;
}
