/* Device memory: one arena, blocks with gaps between them, and named regions within blocks. */
#include "memory/arena.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/byte_map.h"

enum { ALIGNMENT = 256, PAGE = 4096, GAP = PAGE, WIDE_GAP = 4 << 20, MOST_IN_BLOCKS = 1024 };

/* A hint: with the same addresses in every run, modelled caches use the same sets. */
static const uintptr_t FIRST_ARENA = 1ull << 45;

/* A drawn base differs in steps that leave the sets as they are. */
enum { BASES = 1 << 18, BASE_STEP = 2 << 20 };

static u64 draw(u64 *seed)
{
    u64 x = *seed += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uintptr_t first_address(u64 *seed) { return FIRST_ARENA + (*seed ? draw(seed) % BASES * BASE_STEP : 0); }

Memory *memory_create(u64 arena_bytes, u64 layout_seed)
{
    Memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->layout_seed = layout_seed;
    void *arena = mmap((void *)first_address(&m->layout_seed), arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) {
        free(m);
        return NULL;
    }
    m->arena = arena;
    m->bytes = arena_bytes;
    m->top = GAP;
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->partial_lock, NULL);
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
    byte_map_destroy(m->unset, m->bytes);
    byte_map_destroy(m->loaded, m->bytes);
    byte_map_destroy(m->stored, m->bytes);
    memory_forget_variables(m, 0, ~0ull);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->partial_lock);
    free(m->partial);
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

/* An empty list with room for so many: the present one, when no kernel reads it. */
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

/* Forget released blocks, so that their place can be reused. */
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

/* An access far beyond a block should not hit its neighbour; half of the arena is used for gaps. The same with and
 * without checks, and drawn where a seed is given: a kernel sees the distances. What hardware maps around blocks has the
 * distances of hardware. */
static u64 gap_behind_top(const Memory *m, u64 gap)
{
    if (gap != GAP || m->top >= m->bytes / 2)
        return gap;
    u64 seed = m->layout_seed + m->handed_out;
    return WIDE_GAP + (m->layout_seed ? draw(&seed) % (WIDE_GAP / PAGE) * PAGE : 0);
}

/* Offset of a place for `bytes`, behind the last block while there is room, else in the first hole. 0: none. */
static u64 find_place(Memory *m, u64 bytes, u64 gap)
{
    if (m->top + bytes + gap_behind_top(m, gap) <= m->bytes)
        return m->top;
    drop_released(m);
    u64 at = gap;
    for (u32 k = 0; k <= m->count; k++) {
        if (k < m->count && m->blocks[k].adopted)
            continue;
        u64 end = k == m->count ? m->bytes : m->blocks[k].address - (u64)m->arena;
        if (at + bytes + gap <= end)
            return at;
        if (k < m->count)
            at = round_up(m->blocks[k].mapped_high - (u64)m->arena + gap, ALIGNMENT);
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

/* Bytes from a block's start to the end of what hardware maps there. Whole granules need much space: the first blocks get
 * granules, the others pages. */
static u64 mapped_bytes(const Memory *m, u64 bytes, u64 granule)
{
    bool room = m->in_blocks < MOST_IN_BLOCKS && m->top + bytes + granule <= m->bytes / 2;
    return round_up(bytes, granule <= PAGE || room ? granule : PAGE);
}

static u64 allocate(Memory *m, u64 bytes, u64 granule)
{
    if (bytes >= m->bytes)
        return 0;
    u64 gap = granule > 1 ? 2 * PAGE : GAP; /* one page that faults, and one that may be mapped with the next block */
    u64 own = bytes ? bytes : 1, mapped = mapped_bytes(m, own, granule), at = find_place(m, mapped, gap);
    u64 address = (u64)m->arena + at;
    Allocation b = {.address = address, .bytes = own, .mapped_low = address - (granule > PAGE ? PAGE : 0),
                    .mapped_high = address + mapped, .mapped = granule > 1, .live = true};
    if (!at || !insert(m, b))
        return 0;
    m->in_blocks += granule > PAGE;
    u64 end = round_up(at + mapped + gap_behind_top(m, gap), ALIGNMENT);
    if (end > m->top)
        m->top = end;
    return rebuild_spans(m) ? address : 0;
}

u64 memory_allocate_mapped(Memory *m, u64 bytes, u64 granule)
{
    pthread_mutex_lock(&m->lock);
    u64 address = allocate(m, bytes, granule);
    pthread_mutex_unlock(&m->lock);
    return address;
}

u64 memory_allocate(Memory *m, u64 bytes) { return memory_allocate_mapped(m, bytes, 1); }

static bool adopt(Memory *m, u64 address, u64 bytes)
{
    u32 k = block_at(m, address);
    bool in_arena = address < (u64)m->arena + m->bytes && address + bytes > (u64)m->arena;
    if (!bytes || in_arena || (k < m->count && m->blocks[k].address < address + bytes))
        return false;
    return insert(m, (Allocation){.address = address, .bytes = bytes, .mapped_low = address,
                                  .mapped_high = address + bytes, .live = true, .adopted = true}) &&
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
        u64 page = (u64)sysconf(_SC_PAGESIZE), first = round_up(address, page), end = b->mapped_high / page * page;
        if (end > first)
            madvise((void *)first, end - first, MADV_DONTNEED);
        memory_forget_variables(m, address, b->bytes);
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

/* The live block around which hardware would have mapped the whole range; NULL: none. */
static const Allocation *mapping_block(const Memory *m, u64 address, u64 bytes)
{
    u32 at = block_at(m, address);
    for (u32 k = at ? at - 1 : 0; k < m->count && k <= at; k++) {
        const Allocation *b = &m->blocks[k];
        if (b->live && address >= b->mapped_low && bytes <= b->mapped_high - address && address < b->mapped_high)
            return b;
    }
    return NULL;
}

static bool all_writable(const Allocation *b, u64 address, u64 bytes)
{
    for (const Region *r = b->regions; r < b->regions + b->region_count; r++)
        if (!r->writable && address < r->address + r->bytes && address + bytes > r->address)
            return false;
    return true;
}

static u64 distance_off(const Allocation *b, u64 address, u64 bytes)
{
    u64 end = b->address + b->bytes;
    return address < b->address ? b->address - address : address + bytes > end ? address + bytes - end : 0;
}

bool memory_mapped(Memory *m, u64 address, u64 bytes, bool store, u64 *off)
{
    pthread_mutex_lock(&m->lock);
    const Allocation *b = mapping_block(m, address, bytes);
    bool mapped = b && b->mapped && (!store || all_writable(b, address, bytes));
    if (mapped)
        *off = distance_off(b, address, bytes);
    pthread_mutex_unlock(&m->lock);
    return mapped;
}

static u64 distance(u64 address, u64 start, u64 bytes)
{
    if (address < start)
        return start - address;
    return address < start + bytes ? 0 : address - (start + bytes) + 1;
}

/* The nearer of the best so far and this one; a live one wins a tie. */
static void consider(u64 d, Block b, u64 *best, Block *out)
{
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
            consider(distance(address, b->mapped_low, b->mapped_high - b->mapped_low),
                     (Block){b->address, b->bytes, "", b->live, b->number}, &best, out);
        for (const Region *r = b->regions; r < b->regions + b->region_count; r++)
            consider(distance(address, r->address, r->bytes),
                     (Block){r->address, r->bytes, r->name, b->live, b->number}, &best, out);
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
