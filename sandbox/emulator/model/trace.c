/*
 * From the addresses of an instruction's lanes to lines and sectors.
 *
 * CDNA's address unit takes a wave in groups: 16 lanes a time when each four neighbours lie within 16 bytes in order, else
 * 4. A tag lookup is a line in a group. This agrees with recorded runs of 8 bytes a lane (16 lookups and 64 accesses a wave:
 * vecCopy on MI100, MI200 and MI300X) and the definition of coalescing in ROCm Compute Profiler ("Address processing
 * unit": 16 accesses for 64 lanes at best).
 */
#include "model/trace.h"

#include <stdlib.h>

bool trace_grow(Trace *t, u64 more)
{
    u64 room = t->room ? 2 * t->room : 256;
    while (room < t->count + more)
        room *= 2;
    Request *bigger = realloc(t->request, room * sizeof *bigger);
    if (!bigger)
        return false;
    t->request = bigger;
    t->room = room;
    return true;
}

/* ---- lines of one instruction ---- */

enum { MOST_LINES = 2 * LANES, SLOTS = 256 };

typedef struct { u64 line[MOST_LINES]; u8 sectors[MOST_LINES], slot[SLOTS]; u32 count; } Lines;

static u8 sectors_between(u64 first, u64 last)
{
    u32 low = first % LINE_BYTES / SECTOR_BYTES, high = last % LINE_BYTES / SECTOR_BYTES;
    return (u8)((2u << high) - (1u << low));
}

static void note(Lines *s, u64 line, u8 sectors)
{
    if (s->count && s->line[s->count - 1] == line) {
        s->sectors[s->count - 1] |= sectors;
        return;
    }
    u32 h = (u32)(line * 0x9e3779b97f4a7c15ull >> 56);
    while (s->slot[h] && s->line[s->slot[h] - 1] != line)
        h = (h + 1) % SLOTS;
    if (!s->slot[h]) {
        s->line[s->count] = line;
        s->sectors[s->count] = 0;
        s->slot[h] = (u8)++s->count;
    }
    s->sectors[s->slot[h] - 1] |= sectors;
}

static void annotate_bytes(Lines *s, u64 first, u64 last)
{
    for (u64 line = first / LINE_BYTES; line <= last / LINE_BYTES; line++) {
        u64 from = line * LINE_BYTES, to = from + LINE_BYTES - 1;
        note(s, line, sectors_between(first > from ? first : from, last < to ? last : to));
    }
}

static void lines_of(Lines *s, const u64 *address, u64 active, u32 bytes)
{
    s->count = 0;
    memset(s->slot, 0, sizeof s->slot);
    for (u64 left = active; left; left &= left - 1) {
        u64 first = address[__builtin_ctzll(left)];
        annotate_bytes(s, first, first + bytes - 1);
    }
}

/* ---- groups of lanes ---- */

static bool quad_is_coalesced(const u64 *address, u32 all_active, u32 bytes)
{
    u64 low = ~0ull, high = 0;
    for (u32 l = 0; l < 4; l++) {
        u64 at = all_active >> l & 1 ? address[l] : low;
        low = at < low ? at : low;
        high = (all_active >> l & 1) && at + bytes > high ? at + bytes : high;
    }
    return low / 16 == (high - 1) / 16;
}

/* Accesses of the instruction, and tag lookups to `lookups`. */
static u64 group_lanes(const u64 *address, u64 active, u32 bytes, u32 line_bytes, u64 *lookups)
{
    u64 accesses = 0;
    bool coalesced = true;
    for (u32 q = 0; q < LANES; q += 4) {
        u32 all_active = active >> q & 15;
        bool one = all_active && quad_is_coalesced(address + q, all_active, bytes);
        coalesced &= !all_active || one;
        accesses += one ? 1 : (u64)__builtin_popcount(all_active);
    }
    for (u32 first = 0, size = coalesced ? 16 : 4; first < LANES; first += size) {
        u64 lines[32];
        u32 count = 0;
        for (u32 l = first; l < first + size; l++) {
            if (!(active >> l & 1))
                continue;
            for (u64 line = address[l] / line_bytes; line <= (address[l] + bytes - 1) / line_bytes; line++) {
                u32 k = count;
                while (k && lines[k - 1] != line)
                    k--;
                if (!k && count < 32)
                    lines[count++] = line;
            }
        }
        *lookups += count;
    }
    return accesses;
}

/* All lanes side by side, and each four neighbours where the address unit can take them as one if they are small. */
static bool in_order(const u64 *address, u64 active, u32 bytes, u32 lanes)
{
    if (active != ~0ull >> (LANES - lanes))
        return false;
    u64 off = address[0] % (bytes <= 4 ? 4 * bytes : bytes);
    for (u32 l = 0; l < lanes; l++)
        off |= address[l] - address[0] - (u64)l * bytes;
    return !off;
}

static u64 lookups_in_order(u64 first, u32 bytes, u32 line_bytes)
{
    u64 step = (bytes <= 4 ? 16 : 4) * (u64)bytes, end = first + LANES * (u64)bytes, lookups = 0;
    for (u64 at = first; at < end; at += step)
        lookups += (at + step - 1) / line_bytes - at / line_bytes + 1;
    return lookups;
}

/* ---- what was found for an instruction before ----
 *
 * The lines of two accesses differ by a constant when their lanes have the same distances and the first one lies at the
 * same place within its line: so it is in loops. */

enum { KNOWN = 1024 }; /* much of it is never touched, and then no memory */

typedef struct {
    u64 active;
    u32 distance[LANES];
    u32 within_line, bytes, count;
    u32 accesses, lookups;
    u32 halves;         /* requests of 64 bytes, if it stores */
    i32 line[MOST_LINES]; /* from that of lane 0 */
    u8 sectors[MOST_LINES];
} Known;

struct TraceLines { const GpuShape *shape; u32 lanes; Known known[KNOWN]; };

TraceLines *trace_lines_create(const GpuShape *shape, u32 lanes)
{
    TraceLines *m = calloc(1, sizeof *m);
    if (m) {
        m->shape = shape;
        m->lanes = lanes;
    }
    return m;
}

void trace_lines_destroy(TraceLines *m) { free(m); }

static u32 halves(u8 sectors) { return (u32)!!(sectors & 3) + (u32)!!(sectors & 12); }

/* From lane 0; of lanes that are switched off, nothing. False when lanes are gigabytes apart. */
static bool distances_of(const u64 *address, u64 active, u32 *distance)
{
    u64 far = 0, first = address[0];
    for (int l = 0; active == ~0ull && l < LANES; l++) {
        far |= (address[l] - first + (1u << 31)) >> 32;
        distance[l] = (u32)(address[l] - first);
    }
    for (int l = 0; active != ~0ull && l < LANES; l++) {
        u64 d = active >> l & 1 ? address[l] - first : 0;
        far |= (d + (1u << 31)) >> 32;
        distance[l] = (u32)d;
    }
    return !far;
}

static void find(Known *k, const u64 *address, u64 active, u32 bytes, const GpuShape *shape)
{
    Lines s;
    u64 lookups = 0;
    lines_of(&s, address, active, bytes);
    k->active = active;
    k->within_line = address[0] % LINE_BYTES;
    k->bytes = bytes;
    k->count = s.count;
    k->accesses = shape->address_groups_known ? (u32)group_lanes(address, active, bytes, shape->l1_line_bytes, &lookups) : 0;
    k->lookups = (u32)lookups;
    k->halves = 0;
    for (u32 n = 0; n < s.count; n++)
        k->halves += halves(s.sectors[n]);
    for (u32 n = 0; n < s.count; n++)
        k->line[n] = (i32)(s.line[n] - address[0] / LINE_BYTES);
    memcpy(k->sectors, s.sectors, s.count);
}

static const Known *known(TraceLines *m, u32 hint, const u64 *address, u64 active, u32 bytes, Known *room)
{
    u32 distance[LANES] __attribute__((aligned(64))), within = address[0] % LINE_BYTES;
    if (!distances_of(address, active, distance)) {
        find(room, address, active, bytes, m->shape);
        return room;
    }
    Known *k = &m->known[(hint * LINE_BYTES + within) * 0x9e3779b1u / (UINT32_MAX / KNOWN + 1)];
    if (k->active != active || k->bytes != bytes || k->within_line != within ||
        memcmp(k->distance, distance, sizeof distance)) {
        find(k, address, active, bytes, m->shape);
        memcpy(k->distance, distance, sizeof distance);
    }
    return k;
}

/* ---- all of it ---- */

/* Request `r` for each of the lines; `first` is that of lane 0. */
static void add_lines(Trace *t, Request r, u64 first, const Known *k)
{
    if (unlikely(t->count + k->count > t->room) && !trace_grow(t, k->count))
        return;
    Request *to = &t->request[t->count];
    for (u32 n = 0; n < k->count; n++) {
        r.line = first + (u64)(i64)k->line[n];
        r.sectors = k->sectors[n];
        to[n] = r;
        r.first = 0;
    }
    t->count += k->count;
}

/* The result of an access in order depends on its first byte and its size. */
static void find_in_order(Known *k, const TraceLines *m, u64 first, u32 bytes)
{
    u64 end = first + m->lanes * (u64)bytes, line = first / LINE_BYTES;
    k->count = (u32)((end - 1) / LINE_BYTES - line + 1);
    k->halves = 0;
    for (u32 n = 0; n < k->count; n++) {
        u64 from = (line + n) * LINE_BYTES, to = from + LINE_BYTES;
        k->line[n] = (i32)n;
        k->sectors[n] = sectors_between(first > from ? first : from, (end < to ? end : to) - 1);
        k->halves += halves(k->sectors[n]);
    }
    bool known = m->shape->address_groups_known;
    k->accesses = !known ? 0 : bytes <= 4 ? LANES / 4 : LANES;
    k->lookups = known ? (u32)lookups_in_order(first, bytes, m->shape->l1_line_bytes) : 0;
}

u32 trace_access(Trace *t, TcpCounts *n, TraceLines *m, u32 inst, const u64 *address, u64 active, u32 bytes,
                 AccessKind kind, bool returns)
{
    static const u8 kinds[] = {REQUEST_READ, REQUEST_WRITE, REQUEST_ATOMIC};
    Known room;
    const Known *k = &room;
    if (in_order(address, active, bytes, m->lanes))
        find_in_order(&room, m, address[0], bytes);
    else
        k = known(m, inst, address, active, bytes, &room);
    add_lines(t, (Request){.inst = inst < NO_INST ? inst : NO_INST, .first = 1, .kind = kinds[kind]},
              address[0] / LINE_BYTES, k);
    n->write_requests += kind == ACCESS_STORE ? k->halves : 0;
    n->atomic_requests[returns] += kind == ACCESS_ATOMIC ? k->halves : 0;
    n->accesses[kind] += k->accesses;
    n->tag_lookups += k->lookups;
    n->lines[kind] += k->count;
    return k->count;
}

u32 trace_scalar(Trace *t, u32 inst, u64 address, u32 bytes, AccessKind kind)
{
    static const u8 kinds[] = {REQUEST_SCALAR, REQUEST_WRITE, REQUEST_ATOMIC};
    u32 lines = 0;
    for (u64 line = address / LINE_BYTES; line <= (address + bytes - 1) / LINE_BYTES; line++) {
        u64 from = line * LINE_BYTES, to = from + LINE_BYTES - 1, last = address + bytes - 1;
        u8 sectors = sectors_between(address > from ? address : from, last < to ? last : to);
        trace_add(t, (Request){.line = line, .inst = inst < NO_INST ? inst : NO_INST, .first = 1,
                               .kind = kinds[kind], .sectors = sectors});
        lines++;
    }
    return lines;
}
