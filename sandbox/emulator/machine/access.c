#include "machine/access.h"

#include "checks/findings.h"
#include "checks/observers.h"
#include "machine/fault.h"
#include "machine/lanes.h"
#include "memory/arena.h"
#include "model/shapes.h"

/* ---- checks ---- */

static u64 lanes_outside(const u64 *address, u64 active, u64 low, u64 limit)
{
    u64 bad = 0;
    if (likely(active == ~0ull))
        for (int l = 0; l < LANES; l++)
            bad |= (u64)(address[l] - low > limit);
    else
        for (int l = 0; l < LANES; l++)
            bad |= (u64)(address[l] - low > limit) & active >> l;
    return bad & 1;
}

bool access_reachable(const Wave *w, u64 address, u64 bytes, Span *out)
{
    const Dispatch *d = w->worker->dispatch;
    if (!memory_span(w->worker->memory, address, bytes, out))
        return false;
    if (!d->kernarg_bytes || out->low > d->kernarg || out->high <= d->kernarg)
        return true;
    bool argument = address >= d->kernarg;
    u64 end = d->kernarg + (d->kernarg_bytes + KERNARG_SPARE - 1) / KERNARG_SPARE * KERNARG_SPARE;
    u64 low = argument ? d->kernarg : out->low, high = argument ? end : d->kernarg;
    *out = (Span){.low = low, .high = high < out->high ? high : out->high, .writable = out->writable};
    return address >= out->low && address + bytes <= out->high;
}

/* What an instruction's lanes touched beyond blocks, where hardware maps memory. */
typedef struct { u32 lanes, first; u64 off; } Overrun;

static bool tolerated(const Wave *w, u32 lane, u64 address, u32 bytes, bool store, Overrun *o)
{
    u64 off;
    if (!memory_mapped(w->worker->memory, address, bytes, store, &off))
        return false;
    if (!o->lanes++)
        o->first = lane;
    o->off = off > o->off ? off : o->off;
    return true;
}

bool access_scalar_overrun(Wave *w, const Inst *i, u64 address, u32 bytes, bool store)
{
    Overrun o = {0};
    if (!tolerated(w, 0, address, bytes, store, &o))
        return false;
    findings_report_overrun(w, i, SPACE_SCALAR, 0, address, bytes, store, 1, o.off);
    return true;
}

/* Lane by lane: the accesses of one instruction may lie in several blocks. */
static bool check_each(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store, Span *cached)
{
    Overrun o = {0};
    for (u32 l = 0; l < LANES; l++) {
        Span span;
        if (!(active >> l & 1))
            continue;
        if (address[l] >= cached->low && address[l] + bytes <= cached->high && (!store || cached->writable))
            continue;
        if (!access_reachable(w, address[l], bytes, &span)) {
            if (tolerated(w, l, address[l], bytes, store, &o))
                continue;
            fault_record(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_GLOBAL, l, address[l], bytes, store);
            return false;
        }
        if (store && !span.writable) {
            fault_record(w, i, OUTCOME_READ_ONLY, SPACE_GLOBAL, l, address[l], bytes, store);
            return false;
        }
        *cached = span;
    }
    if (o.lanes)
        findings_report_overrun(w, i, SPACE_GLOBAL, o.first, address[o.first], bytes, store, o.lanes, o.off);
    return true;
}

/* The block that an instruction accessed last; it nearly always accesses it again. */
static Span *span_of(Wave *w, const Inst *i) { return &w->worker->cache[(u64)(i - w->program->code) % SPAN_CACHE]; }

/* Offsets from the span's start, if all lanes lie in it. */
static bool narrow(const Span *s, const u64 *address, u64 active, u32 bytes, bool store, Access *a)
{
    u64 size = s->high - s->low;
    bool fits = size >= bytes && (!store || s->writable) && size <= UINT32_MAX;
    if (!fits || lanes_outside(address, active, s->low, size - bytes))
        return false;
    a->base = (u8 *)s->low;
    a->offset = a->own;
    for (int l = 0; l < LANES; l++)
        a->own[l] = (u32)(address[l] - s->low);
    return true;
}

/* Nearly always all lanes are in one block: that of the previous access, or else that of the first lane. */
static bool check_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store, Access *a)
{
    Span *cached = span_of(w, i);
    u64 first = active ? address[__builtin_ctzll(active)] : 0;
    if (unlikely(!narrow(cached, address, active, bytes, store, a)) &&
        !(memory_span(w->worker->memory, first, bytes, cached) && narrow(cached, address, active, bytes, store, a))) {
        if (!check_each(w, i, address, active, bytes, store, cached))
            return false;
        a->base = NULL;
        memcpy(a->at, address, sizeof a->at);
    }
    if (unlikely(w->worker->observers))
        observe_global(w, i, address, active, bytes, store);
    return true;
}

/* Offsets within LDS or scratch: no lane may reach past `size`. */
static bool check_offsets(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, u32 size, bool store,
                          AddressSpace space)
{
    u64 bad = 0;
    if (likely(size >= bytes)) {
        u32 limit = size - bytes;
        u32 any = 0;
        for (int l = 0; l < LANES; l++)
            any |= offset[l] > limit;
        for (int l = 0; unlikely(any) && l < LANES; l++)
            bad |= (u64)(offset[l] > limit) << l;
        bad &= active;
    } else {
        bad = active;
    }
    if (likely(!bad))
        return true;
    u32 lane = (u32)__builtin_ctzll(bad);
    fault_record(w, i, OUTCOME_OUT_OF_BOUNDS, space, lane, offset[lane], bytes, store);
    return false;
}

/* ---- addresses by segment ---- */

/* `x`, with inactive lanes holding the value of lane `first`, so that all 64 can be treated alike. */
static const u32 *active_only(const Wave *w, const u32 *x, u64 active, u32 first, u32 *scratch_row)
{
    if (likely(active == ~0ull))
        return x;
    if (active == w->all_lanes) {
        memcpy(scratch_row, x, 32 * sizeof *x); /* of 32 lanes: the others are never active */
        memcpy(scratch_row + 32, x, 32 * sizeof *x);
        return scratch_row;
    }
    for (int l = 0; l < LANES; l++)
        scratch_row[l] = x[first];
    choose(scratch_row, scratch_row, x, active);
    return scratch_row;
}

static bool all_equal(const u32 *x)
{
    u32 differing = 0;
    for (int l = 0; l < LANES; l++)
        differing |= x[l] ^ x[0];
    return !differing;
}

/* base + offset of every lane lies in the span. */
static bool all_in_span(const Span *s, u64 base, const u32 *offset, u32 bytes, bool store)
{
    u32 lowest = ~0u, highest = 0;
    for (int l = 0; l < LANES; l++) {
        lowest = offset[l] < lowest ? offset[l] : lowest;
        highest = offset[l] > highest ? offset[l] : highest;
    }
    u64 start = base + lowest;
    return start >= s->low && start + bytes <= s->high && start + bytes > start &&
           highest - lowest <= s->high - bytes - start && (!store || s->writable);
}

/* The fast path: all lanes in one block and, if they hold whole addresses, with one upper half. The register of the
 * lower halves then serves as the offsets. */
static bool resolve_at_once(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    const u32 *low = vector(w, i->source[0]);
    u32 first = a->active ? (u32)__builtin_ctzll(a->active) : 0, scratch_row[LANES];
    u64 base = (u64)(i64)i->offset;
    if (i->source[1] == SOURCE_OFF) {
        const u32 *high = active_only(w, low + LANES, a->active, first, scratch_row);
        if (!all_equal(high))
            return false;
        base += pair(0, high[0]);
    } else {
        base += scalar64(w, i, 1);
    }
    a->base = (u8 *)base;
    a->offset = active_only(w, low, a->active, first, a->own);
    Span *cached = span_of(w, i);
    return likely(all_in_span(cached, base, a->offset, bytes, store)) ||
           (memory_span(w->worker->memory, base + a->offset[0], bytes, cached) &&
            all_in_span(cached, base, a->offset, bytes, store));
}

/* In a loop, addresses mostly advance by a constant. The host's prefetcher sees too many streams to learn that, and a load
 * that misses its caches costs as much as several instructions. */
static void fetch_ahead(Wave *w, const Inst *i, const Access *a)
{
    u64 *met = &w->worker->met[span_of(w, i) - w->worker->cache], here = (u64)a->base + a->offset[0], step = here - *met;
    *met = here;
    for (int l = 0; l < LANES; l += 16)
        __builtin_prefetch((const void *)((u64)a->base + a->offset[l] + step));
}

static bool resolve_global(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    u64 address[LANES] __attribute__((aligned(64))), offset = (u64)(i64)i->offset;
    const u32 *v = vector(w, i->source[0]);
    bool quick = resolve_at_once(w, i, bytes, store, a);
    if (quick)
        fetch_ahead(w, i, a);
    if (likely(quick && !w->worker->observers))
        return true;
    if (i->source[1] == SOURCE_OFF) {
        for (int l = 0; l < LANES; l++)
            address[l] = pair(v[l], v[LANES + l]) + offset;
    } else {
        u64 base = scalar64(w, i, 1) + offset;
        for (int l = 0; l < LANES; l++)
            address[l] = base + v[l];
    }
    if (!quick)
        return check_global(w, i, address, a->active, bytes, store, a);
    observe_global(w, i, address, a->active, bytes, store);
    return true;
}

static bool resolve_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store, Access *a)
{
    if (!check_offsets(w, i, offset, active, bytes, w->scratch_bytes, store, SPACE_SCRATCH))
        return false;
    if (unlikely(w->worker->observers))
        observe_private(w, i, offset, active, bytes, store);
    a->base = NULL;
    u32 end = 0;
    for (u32 l = 0; l < LANES; l++)
        if (active >> l & 1) {
            a->at[l] = w->scratch + (u64)l * w->scratch_bytes + offset[l];
            end = offset[l] + bytes > end ? offset[l] + bytes : end;
        }
    if (store && end > w->scratch_stored)
        w->scratch_stored = end;
    w->worker->events.bytes_in_scratch[i->row->detail[2]] += bytes * (u64)__builtin_popcountll(active);
    return true;
}

static bool resolve_scratch(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    u32 offset[LANES], base = (u32)i->offset + (i->source[1] == SOURCE_OFF ? 0 : scalar32(w, i, 1));
    const u32 *v = i->source[0] == SOURCE_OFF ? NULL : vector(w, i->source[0]);
    for (int l = 0; l < LANES; l++)
        offset[l] = base + (v ? v[l] : 0);
    return resolve_private(w, i, offset, a->active, bytes, store, a);
}

/* The workgroup's LDS on hardware, which allocates whole granules. */
static u32 lds_given_out(const Wave *w)
{
    u32 granule = w->program->shape ? w->program->shape->lds_granule : 1;
    return (w->lds_bytes + granule - 1) / granule * granule;
}

/* Stores of lanes that reach beyond LDS continue and are reported: `over` are those lanes. */
static void tell_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 over, u32 bytes)
{
    u64 farthest = 0;
    for (u32 l = 0; l < LANES; l++)
        if (over >> l & 1 && (u64)offset[l] + bytes > farthest)
            farthest = (u64)offset[l] + bytes;
    u32 first = (u32)__builtin_ctzll(over);
    findings_report_overrun(w, i, SPACE_LDS, first, offset[first], bytes, true, (u32)__builtin_popcountll(over),
                   farthest - w->lds_bytes);
}

/* A flat access beyond what the workgroup has of LDS is a memory violation, which stops the wave, whereas ds_read and
 * ds_write continue (access_lds_slowly). Source: RDNA3 and RDNA4 ISA, 11.3 "Memory Error Checking"; CDNA is assumed to
 * do the same, as AMD's driver lets no wave mask a memory violation. */
static bool resolve_flat_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes, bool store, Access *a)
{
    u32 size = w->worker->dispatch->overruns ? lds_given_out(w) : w->lds_bytes;
    u64 over = 0;
    if (!check_offsets(w, i, offset, lanes, bytes, size, store, SPACE_LDS))
        return false;
    for (u32 l = 0; l < LANES; l++)
        if (lanes >> l & 1) {
            over |= (u64)(offset[l] + bytes > w->lds_bytes) << l;
            a->at[l] = w->lds + offset[l];
        }
    if (over && store)
        tell_beyond_lds(w, i, offset, over, bytes);
    if (unlikely(w->worker->observers))
        observe_lds(w, i, offset, lanes & ~over, bytes, store);
    return true;
}

/* An address is in LDS or scratch when its upper word, before the offset is added, is the aperture's. */
static bool resolve_flat(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    const u32 *v = vector(w, i->source[0]);
    u64 address[LANES], shared = 0, private = 0;
    u32 offset[LANES];
    for (int l = 0; l < LANES; l++) {
        address[l] = pair(v[l], v[LANES + l]) + (u64)(i64)i->offset;
        offset[l] = (u32)address[l];
        shared |= (u64)(v[LANES + l] == SHARED_APERTURE) << l;
        private |= (u64)(v[LANES + l] == PRIVATE_APERTURE) << l;
    }
    shared &= a->active;
    private &= a->active;
    u64 global = a->active & ~shared & ~private;
    if (global == a->active)
        return check_global(w, i, address, global, bytes, store, a);
    if (global && !check_global(w, i, address, global, bytes, store, a))
        return false;
    a->base = NULL;
    memcpy(a->at, address, sizeof a->at);
    if (shared && !resolve_flat_lds(w, i, offset, shared, bytes, store, a))
        return false;
    Events *e = &w->worker->events;
    e->bytes_in_lds[i->row->detail[2]] += bytes * (u64)__builtin_popcountll(shared);
    e->flat_in_lds += shared != 0;
    e->flat_only_in_lds += shared && shared == a->active;
    return !private || resolve_private(w, i, offset, private, bytes, store, a);
}

/* Scratch as gfx90a sees it: the scalar offset counts the bytes of all 64 lanes, the others those of one. */
static bool resolve_private_buffer(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    u32 offset[LANES], scalar = scalar32(w, i, 3), base = (u32)i->offset + scalar / LANES;
    if (i->idxen || scalar % (4 * LANES)) {
        fault_not_emulated(w, i);
        return false;
    }
    const u32 *v = i->offen ? vector(w, i->source[0]) : NULL;
    for (int l = 0; l < LANES; l++)
        offset[l] = base + (v ? v[l] : 0);
    return resolve_private(w, i, offset, a->active, bytes, store, a);
}

/* ---- buffers ---- */

/* What the range check compares: record and offset within it, the record alone, nothing, or the offset with all bytes. */
typedef enum { CHECK_BOTH, CHECK_RECORD, CHECK_NOTHING, CHECK_BYTES } RangeCheck;

typedef struct { u64 base, bytes; u32 stride, records; RangeCheck check; } Buffer;

static u32 beyond(u32 records, u32 scalar) { return records > scalar ? records - scalar : 0; }

/* CDNA chooses the check by what the instruction has: without an index the size is in bytes, whatever the stride is (Mesa,
 * si_make_buffer_descriptor, GFX9). Triton's masked loads rely on it. The size of a raw buffer is reduced by the scalar
 * offset: AMD's matrix products rely on it where they step through rows by that offset. */
static void cdna_check(const Inst *i, u32 scalar, Buffer *b)
{
    b->check = b->stride && i->idxen ? CHECK_RECORD : CHECK_BYTES;
    b->bytes = beyond(b->records, scalar);
}

/* RDNA encodes it in the descriptor; RDNA4 has a factor for the stride as well. */
static void rdna_check(const Wave *w, u32 word, u32 scalar, Buffer *b)
{
    static const u8 scale[] = {1, 4, 8, 32};
    b->check = (RangeCheck)(word >> 28 & 3);
    b->stride *= w->program->generation >= GFX12 ? scale[word >> 18 & 3] : 1;
    b->bytes = beyond(b->records, scalar);
}

/* The descriptor in four scalar registers. False: one of swizzled records, or that adds the lane to the index. Without an
 * index CDNA has one record and nothing to swizzle: HipKittens' products for MI325X are right there with such descriptors. */
static bool read_buffer(const Wave *w, const Inst *i, u32 at, u32 scalar, Buffer *b)
{
    const u32 *word = &w->s[at];
    bool rdna = w->program->generation >= GFX11, swizzled = rdna ? word[1] >> 30 : word[1] >> 31 && i->idxen;
    if (swizzled || word[3] >> 23 & 1)
        return false;
    *b = (Buffer){.base = scalar_pair(w, at) & 0xffffffffffffull, .stride = word[1] >> 16 & 0x3fff, .records = word[2]};
    if (rdna)
        rdna_check(w, word[3], scalar, b);
    else
        cdna_check(i, scalar, b);
    return true;
}

static bool within_buffer(const Buffer *b, u64 record, u64 offset, u32 bytes)
{
    switch (b->check) {
    case CHECK_BOTH: return record < b->records && offset + bytes <= b->stride;
    case CHECK_RECORD: return record < b->records;
    case CHECK_NOTHING: return b->records;
    default: return offset + bytes <= b->bytes;
    }
}

/* Out of a buffer's range, loads return zero and stores do nothing. Each dword is checked by itself, except for atomics.
 * Source: CDNA4 ISA, 9.1.5.1 "Range Checking"; RDNA4 ISA, 9.4.1 "Range Checking" and 9.6 "Buffer Resource". */
static bool resolve_buffer(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    u32 at = i->source[1], scalar = scalar32(w, i, 3);
    u64 address[LANES], partly = 0;
    Buffer b;
    if (!memcmp(&w->s[at], private_buffer, sizeof private_buffer))
        return resolve_private_buffer(w, i, bytes, store, a);
    if (!read_buffer(w, i, at, scalar, &b)) {
        fault_not_emulated(w, i);
        return false;
    }
    const u32 *v = i->source[0] == SOURCE_OFF ? NULL : vector(w, i->source[0]);
    const u32 *record = i->idxen ? v : NULL, *offset = i->offen && v ? v + (i->idxen ? LANES : 0) : NULL;
    for (u32 l = 0; l < LANES; l++) {
        u64 within = (u64)(u32)i->offset + (offset ? offset[l] : 0), n = record ? record[l] : 0;
        bool inside = within_buffer(&b, n, within, bytes);
        a->outside |= (u64)!inside << l;
        partly |= (u64)(!inside && within_buffer(&b, n, within, 4)) << l;
        address[l] = b.base + scalar + within + n * b.stride;
    }
    a->outside &= a->active;
    a->split = partly & a->active && bytes > 4 && i->row->detail[2] != ACCESS_ATOMIC;
    if (a->split)
        return true;
    a->active &= ~a->outside;
    return !a->active || check_global(w, i, address, a->active, bytes, store, a);
}

bool access_resolve(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    a->active = exec_mask(w);
    a->outside = 0;
    a->split = false;
    a->base = NULL; /* of no lane at all, if a buffer's range check turns off every one */
    switch ((Segment)i->row->detail[0]) {
    case SEGMENT_GLOBAL: return resolve_global(w, i, bytes, store, a);
    case SEGMENT_FLAT: return resolve_flat(w, i, bytes, store, a);
    case SEGMENT_SCRATCH: return resolve_scratch(w, i, bytes, store, a);
    default: return resolve_buffer(w, i, bytes, store, a);
    }
}

/* Lanes that load from beyond LDS get zero, as on hardware: compilers load before the branch that tests whether there is
 * anything to load. Checks follow the value to its use. A store or an atomic there, and a load across the end, is a
 * fault. Source: RDNA3 ISA, "LDS: out of range"; CDNA is assumed to do the same. */
static void leave_out_beyond(Wave *w, const Inst *i, u32 bytes, Access *a)
{
    u64 beyond = 0;
    for (int l = 0; l < LANES; l++)
        beyond |= (u64)(a->own[l] >= w->lds_bytes && a->own[l] + bytes > a->own[l]) << l;
    beyond &= a->active;
    if (!beyond)
        return;
    a->outside = beyond;
    a->active &= ~beyond;
    if (w->worker->observers)
        observe_beyond_lds(w, i, a->own, beyond, bytes);
}

/* As on hardware: the rest of the last granule exists, stores and atomics beyond are dropped, loads return zero. */
static void leave_out_as_hardware(Wave *w, const Inst *i, u32 bytes, bool store, Access *a)
{
    u64 over = 0, dropped = 0, given_out = lds_given_out(w);
    for (int l = 0; l < LANES; l++) {
        u64 end = (u64)a->own[l] + bytes;
        over |= (u64)(end > w->lds_bytes) << l;
        dropped |= (u64)(end > given_out) << l;
    }
    over &= a->active;
    a->outside = dropped & a->active;
    a->active &= ~dropped;
    if (over && store)
        tell_beyond_lds(w, i, a->own, over, bytes);
}

bool access_lds_slowly(Wave *w, const Inst *i, const u32 *address, i32 offset, u32 bytes, bool store, bool within, Access *a)
{
    for (int l = 0; l < LANES; l++)
        a->own[l] = address[l] + (u32)offset;
    if (!within) {
        a->base = w->lds;
        a->offset = a->own;
        if (w->worker->dispatch->overruns) {
            leave_out_as_hardware(w, i, bytes, store, a);
            return true;
        }
        if (i->row->family == FAMILY_LDS && i->row->detail[2] == ACCESS_LOAD)
            leave_out_beyond(w, i, bytes, a);
        if (!check_offsets(w, i, a->own, a->active, bytes, w->lds_bytes, store, SPACE_LDS))
            return false;
    }
    if (unlikely(w->worker->observers))
        observe_lds(w, i, a->own, a->active, bytes, store);
    return true;
}
