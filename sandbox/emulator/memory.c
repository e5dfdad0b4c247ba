/* Device memory: one arena, blocks with gaps between them, and named regions within blocks. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "machine.h"

enum { ALIGNMENT = 256, GAP = 4096, WIDE_GAP = 4 << 20, NAME_BYTES = 64 };

/* Asked for, not insisted on: with the same addresses in every run, modelled caches find the same sets. */
static const uintptr_t FIRST_ARENA = 1ull << 45;

typedef struct { u64 address, bytes; char name[NAME_BYTES]; bool writable, input; } Region;

typedef struct {
    u64 address, bytes;
    bool live;
    bool adopted;             /* the host's: outside the arena */
    Region *regions;
    u32 region_count;
    u32 number;               /* 1 for the first that was handed out */
} Allocation;

/* What kernels may touch, by address. Never changed while kernels run: another one takes its place. */
typedef struct SpanList {
    struct SpanList *retired; /* one that was replaced before this one */
    u32 count, room;
    Span items[];
} SpanList;

struct Memory {
    u8 *arena;
    u64 bytes, top;           /* offset of the first byte that was never handed out */
    Allocation *blocks;       /* by address; released ones stay, to explain a use after free */
    u32 count, room;
    SpanList *spans;          /* or NULL: nothing may be touched */
    SpanList *retired;        /* which kernels that run may still look at */
    u32 within;               /* dispatches that run */
    u32 handed_out;
    u8 *unset;                /* a bit for each byte of the arena that nothing has written yet; NULL: not tracked */
    pthread_mutex_t lock;
};

Memory *memory_create(u64 arena_bytes)
{
    Memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    void *arena = mmap((void *)FIRST_ARENA, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) {
        free(m);
        return NULL;
    }
    m->arena = arena;
    m->bytes = arena_bytes;
    m->top = GAP;
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

static void drop_retired(Memory *m)
{
    while (m->retired) {
        SpanList *next = m->retired->retired;
        free(m->retired);
        m->retired = next;
    }
}

void memory_destroy(Memory *m)
{
    if (!m)
        return;
    for (u32 k = 0; k < m->count; k++)
        free(m->blocks[k].regions);
    munmap(m->arena, m->bytes);
    if (m->unset)
        munmap(m->unset, m->bytes / 8 + 1);
    pthread_mutex_destroy(&m->lock);
    free(m->blocks);
    drop_retired(m);
    free(m->spans);
    free(m);
}

void memory_arena(const Memory *m, u64 *address, u64 *bytes)
{
    *address = (u64)m->arena;
    *bytes = m->bytes;
}

static u64 round_up(u64 x, u64 to) { return (x + to - 1) / to * to; }

/* Index of the first block that ends after `address`. */
static u32 block_at(const Memory *m, u64 address)
{
    u32 low = 0, high = m->count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (m->blocks[middle].address + m->blocks[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static Allocation *live_block(const Memory *m, u64 address)
{
    u32 k = block_at(m, address);
    if (k == m->count || !m->blocks[k].live || address < m->blocks[k].address)
        return NULL;
    return &m->blocks[k];
}

/* An empty list with room for so many: the present one, when nobody looks at it. */
static SpanList *fresh_spans(Memory *m, u32 wanted)
{
    if (!m->within && m->spans && m->spans->room >= wanted)
        return m->spans;
    SpanList *l = malloc(sizeof *l + 2 * wanted * sizeof *l->items);
    if (l)
        *l = (SpanList){.room = 2 * wanted};
    return l;
}

static void publish(Memory *m, SpanList *l)
{
    SpanList *before = m->spans;
    __atomic_store_n(&m->spans, l, __ATOMIC_RELEASE);
    if (!before || before == l)
        return;
    before->retired = m->retired;
    m->retired = before;
    if (!m->within)
        drop_retired(m);
}

static bool rebuild_spans(Memory *m)
{
    u32 wanted = 64;
    for (u32 k = 0; k < m->count; k++)
        wanted += 1 + m->blocks[k].region_count;
    SpanList *l = fresh_spans(m, wanted);
    if (!l)
        return false;
    l->count = 0;
    for (u32 k = 0; k < m->count; k++) {
        const Allocation *b = &m->blocks[k];
        if (!b->live)
            continue;
        if (!b->region_count)
            l->items[l->count++] = (Span){b->address, b->address + b->bytes, true, false};
        for (const Region *r = b->regions; r < b->regions + b->region_count; r++)
            l->items[l->count++] = (Span){r->address, r->address + r->bytes, r->writable, r->input};
    }
    publish(m, l);
    return true;
}

void memory_enter(Memory *m)
{
    pthread_mutex_lock(&m->lock);
    m->within++;
    pthread_mutex_unlock(&m->lock);
}

void memory_leave(Memory *m)
{
    pthread_mutex_lock(&m->lock);
    if (!--m->within)
        drop_retired(m);
    pthread_mutex_unlock(&m->lock);
}

/* Forget released blocks, so that their place can be handed out again. */
static void drop_released(Memory *m)
{
    u32 kept = 0;
    for (u32 k = 0; k < m->count; k++) {
        if (m->blocks[k].live)
            m->blocks[kept++] = m->blocks[k];
        else
            free(m->blocks[k].regions);
    }
    m->count = kept;
}

/* Where accesses are checked, what misses a block by far should not hit its neighbour; half of the arena serves that. */
static u64 gap_behind_top(const Memory *m) { return m->unset && m->top < m->bytes / 2 ? WIDE_GAP : GAP; }

/* Offset of a place for `bytes`, behind the last block while there is room, else in the first hole. 0: none. */
static u64 find_place(Memory *m, u64 bytes)
{
    if (m->top + bytes + gap_behind_top(m) <= m->bytes)
        return m->top;
    drop_released(m);
    u64 at = GAP;
    for (u32 k = 0; k <= m->count; k++) {
        if (k < m->count && m->blocks[k].adopted)
            continue;
        u64 end = k == m->count ? m->bytes : m->blocks[k].address - (u64)m->arena;
        if (at + bytes + GAP <= end)
            return at;
        if (k < m->count)
            at = round_up(end + m->blocks[k].bytes + GAP, ALIGNMENT);
    }
    return 0;
}

static bool insert(Memory *m, Allocation b)
{
    if (m->count == m->room) {
        u32 room = m->room ? 2 * m->room : 64;
        Allocation *blocks = realloc(m->blocks, room * sizeof *blocks);
        if (!blocks)
            return false;
        m->blocks = blocks;
        m->room = room;
    }
    u32 k = block_at(m, b.address);
    memmove(&m->blocks[k + 1], &m->blocks[k], (m->count - k) * sizeof *m->blocks);
    m->blocks[k] = b;
    m->blocks[k].number = ++m->handed_out;
    memory_set_unset(m, b.address, b.bytes, false);
    m->count++;
    return true;
}

static u64 allocate(Memory *m, u64 bytes)
{
    u64 at = bytes < m->bytes ? find_place(m, bytes ? bytes : 1) : 0;
    u64 address = (u64)m->arena + at;
    if (!at || !insert(m, (Allocation){.address = address, .bytes = bytes ? bytes : 1, .live = true}))
        return 0;
    u64 end = round_up(at + bytes + gap_behind_top(m), ALIGNMENT);
    if (end > m->top)
        m->top = end;
    return rebuild_spans(m) ? address : 0;
}

u64 memory_allocate(Memory *m, u64 bytes)
{
    pthread_mutex_lock(&m->lock);
    u64 address = allocate(m, bytes);
    pthread_mutex_unlock(&m->lock);
    return address;
}

static bool adopt(Memory *m, u64 address, u64 bytes)
{
    u32 k = block_at(m, address);
    bool in_arena = address < (u64)m->arena + m->bytes && address + bytes > (u64)m->arena;
    if (!bytes || in_arena || (k < m->count && m->blocks[k].address < address + bytes))
        return false;
    return insert(m, (Allocation){.address = address, .bytes = bytes, .live = true, .adopted = true}) &&
           rebuild_spans(m);
}

bool memory_adopt(Memory *m, u64 address, u64 bytes)
{
    pthread_mutex_lock(&m->lock);
    bool done = adopt(m, address, bytes);
    pthread_mutex_unlock(&m->lock);
    return done;
}

static void forget(Memory *m, Allocation *b)
{
    free(b->regions);
    memmove(b, b + 1, (size_t)(&m->blocks[--m->count] - b) * sizeof *b);
}

bool memory_release(Memory *m, u64 address)
{
    pthread_mutex_lock(&m->lock);
    Allocation *b = live_block(m, address);
    bool found = b && b->address == address;
    if (found && b->adopted) { /* its place can be adopted again with other bounds */
        forget(m, b);
        rebuild_spans(m);
    } else if (found) {
        u64 first = round_up(address, 4096), end = (address + b->bytes) / 4096 * 4096;
        if (end > first)
            madvise((void *)first, end - first, MADV_DONTNEED);
        b->live = false;
        rebuild_spans(m);
    }
    pthread_mutex_unlock(&m->lock);
    return found;
}

static bool describe(Allocation *b, u64 address, u64 bytes, const char *name, bool writable)
{
    if (!b || bytes > b->address + b->bytes - address)
        return false;
    Region *regions = realloc(b->regions, (b->region_count + 1) * sizeof *regions);
    if (!regions)
        return false;
    b->regions = regions;
    u32 k = b->region_count;
    while (k && regions[k - 1].address > address)
        k--;
    if (k && regions[k - 1].address + regions[k - 1].bytes > address)
        return false;
    if (k < b->region_count && address + bytes > regions[k].address)
        return false;
    memmove(&regions[k + 1], &regions[k], (b->region_count - k) * sizeof *regions);
    regions[k] = (Region){.address = address, .bytes = bytes, .writable = writable};
    strncpy(regions[k].name, name ? name : "", NAME_BYTES - 1);
    b->region_count++;
    return true;
}

bool memory_describe(Memory *m, u64 address, u64 bytes, const char *name, bool writable)
{
    pthread_mutex_lock(&m->lock);
    bool done = describe(live_block(m, address), address, bytes, name, writable) && rebuild_spans(m);
    pthread_mutex_unlock(&m->lock);
    return done;
}

static Region *region_at(Memory *m, u64 address)
{
    Allocation *b = live_block(m, address);
    for (u32 r = 0; b && r < b->region_count; r++)
        if (b->regions[r].address == address)
            return &b->regions[r];
    return NULL;
}

bool memory_is_input(Memory *m, u64 address)
{
    pthread_mutex_lock(&m->lock);
    Region *r = region_at(m, address);
    if (r)
        r->input = true;
    bool done = r && rebuild_spans(m);
    pthread_mutex_unlock(&m->lock);
    return done;
}

/* ---- which bytes nothing has written yet ---- */

bool memory_track_unset(Memory *m)
{
    void *p = mmap(NULL, m->bytes / 8 + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m->unset = p == MAP_FAILED ? NULL : p;
    return m->unset;
}

static void set_bits(u8 *at, u8 mask, bool unset)
{
    if (unset)
        __atomic_fetch_or(at, mask, __ATOMIC_RELAXED);
    else if (__atomic_load_n(at, __ATOMIC_RELAXED) & mask)
        __atomic_fetch_and(at, (u8)~mask, __ATOMIC_RELAXED);
}

void memory_set_unset(Memory *m, u64 address, u64 bytes, bool unset)
{
    u64 low = address - (u64)m->arena, high = low + bytes;
    if (!m->unset || !bytes || low >= m->bytes || bytes > m->bytes - low)
        return;
    u64 first = (low + 7) / 8, last = high / 8;
    if (first > last) { /* within one byte of bits */
        set_bits(&m->unset[low / 8], (u8)((0xff << low % 8) & ((1 << high % 8) - 1)), unset);
        return;
    }
    if (low % 8)
        set_bits(&m->unset[low / 8], (u8)(0xff << low % 8), unset);
    memset(m->unset + first, unset ? 0xff : 0, last - first);
    if (high % 8)
        set_bits(&m->unset[last], (u8)((1 << high % 8) - 1), unset);
}

u64 memory_unset(const Memory *m, u64 address, u32 bytes)
{
    u64 offset = address - (u64)m->arena, found = 0;
    if (!m->unset || offset >= m->bytes || bytes > m->bytes - offset)
        return 0;
    const u8 *bits = m->unset + offset / 8;
    for (u32 k = 0; k <= (offset % 8 + bytes - 1) / 8; k++)
        if (bits[k])
            for (u32 b = 0; b < 8; b++)
                if (bits[k] >> b & 1 && 8 * k + b >= offset % 8 && 8 * k + b - offset % 8 < bytes)
                    found |= 1ull << (8 * k + b - offset % 8);
    return found;
}

bool memory_any_unset(const Memory *m, u64 address, u64 bytes)
{
    u64 offset = address - (u64)m->arena;
    if (!m->unset || offset >= m->bytes || bytes > m->bytes - offset)
        return false;
    for (u64 at = offset / 8; at <= (offset + bytes - 1) / 8;) {
        u64 word;
        if (at % 8 == 0 && at + 8 <= (offset + bytes - 1) / 8) {
            memcpy(&word, m->unset + at, 8);
            at += 8;
        } else {
            word = m->unset[at++];
        }
        if (word)
            return true;
    }
    return false;
}

void memory_copy_unset(Memory *m, u64 to, u64 from, u64 bytes)
{
    bool any = memory_any_unset(m, from, bytes);
    for (u64 k = 0; any && k < bytes; k++)
        memory_set_unset(m, to + k, 1, memory_unset(m, from + k, 1));
    if (!any)
        memory_set_unset(m, to, bytes, false);
}

static u64 distance(u64 address, u64 start, u64 bytes)
{
    if (address < start)
        return start - address;
    return address < start + bytes ? 0 : address - (start + bytes) + 1;
}

/* The nearer of the best so far and this one; a live one wins a tie. */
static void consider(u64 address, Block b, u64 *best, Block *out)
{
    u64 d = distance(address, b.address, b.bytes);
    if (d < *best || (d == *best && b.live && !out->live)) {
        *best = d;
        *out = b;
    }
}

bool memory_nearest(Memory *m, u64 address, Block *out)
{
    u64 best = ~0ull;
    *out = (Block){0};
    pthread_mutex_lock(&m->lock);
    u32 at = block_at(m, address);
    for (u32 k = at > 2 ? at - 2 : 0; k < m->count && k < at + 2; k++) {
        const Allocation *b = &m->blocks[k];
        if (!b->region_count)
            consider(address, (Block){b->address, b->bytes, "", b->live, b->number}, &best, out);
        for (u32 r = 0; r < b->region_count; r++)
            consider(address,
                     (Block){b->regions[r].address, b->regions[r].bytes, b->regions[r].name, b->live, b->number},
                     &best, out);
    }
    pthread_mutex_unlock(&m->lock);
    return best != ~0ull;
}

bool memory_in_block(Memory *m, u64 address, u64 bytes)
{
    pthread_mutex_lock(&m->lock);
    u64 end = address + bytes, at = address;
    const Allocation *b = live_block(m, at);
    while (b && b->address + b->bytes < end) { /* adopted blocks may follow each other without a gap */
        at = b->address + b->bytes;
        b = live_block(m, at);
    }
    pthread_mutex_unlock(&m->lock);
    return b && end >= address;
}

bool memory_span(const Memory *m, u64 address, u64 bytes, Span *out)
{
    const SpanList *l = __atomic_load_n(&m->spans, __ATOMIC_ACQUIRE);
    u32 low = 0, high = l ? l->count : 0, count = high;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (l->items[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || address < l->items[low].low || bytes > l->items[low].high - address)
        return false;
    *out = l->items[low];
    return true;
}
