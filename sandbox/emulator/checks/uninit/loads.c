/* Loads of bytes that nothing has written, and stores that write them: global memory, LDS, scalar loads. */
#include "checks/uninit/loads.h"

#include "checks/extent.h"
#include "checks/kernarg.h"
#include "checks/uninit/registers.h"
#include "memory/arena.h"

static bool has_two_places(const Inst *i) { return i->row->family == FAMILY_LDS && i->row->modifiers & MOD_OFFSET01; }

/* Loads and stores of two places in LDS are reported in two steps. */
static bool is_second_place(const Wave *w, const Inst *i, const u32 *offset, u32 bytes)
{
    u32 lane = exec_mask(w) ? (u32)__builtin_ctzll(exec_mask(w)) : 0, unit = bytes * i->row->detail[1];
    return has_two_places(i) && offset[lane] != w->v[i->source[0] - FIRST_VGPR][lane] + (u32)i->offset * unit;
}

/* The register that receives the first dword of a load, or 0xffff. */
static u16 loaded_register(const Wave *w, const Inst *i, const u32 *offset, u32 bytes)
{
    if (i->row->detail[2] != ACCESS_LOAD || i->lds || i->dst == 0xffff)
        return 0xffff;
    return (u16)(offset && is_second_place(w, i, offset, bytes) ? i->dst + bytes / 4 : i->dst);
}

/* Likewise the register that holds the first dword of what is stored. */
static u16 stored_register(const Wave *w, const Inst *i, const u32 *offset, u32 bytes)
{
    if (i->row->detail[2] != ACCESS_STORE)
        return 0xffff;
    if (i->row->family != FAMILY_LDS)
        return i->source[2];
    return i->source[1] == SOURCE_OFF ? i->source[0] : i->source[is_second_place(w, i, offset, bytes) ? 2 : 1];
}

/* What a lane's load brought. */
typedef struct {
    u64 unset;         /* a bit for each byte */
    bool partly_defined;        /* as part of a partly set struct */
    const u8 *carried; /* the record of its bytes, if the uninitialised value was stored to LDS as it is */
    const u8 *bits;    /* their unset bits then, or those of partly set bytes; NULL: all bits */
} Brought;

/* The unset bits of a dword, and what else is known of it. */
static u32 dword_brought(const Brought *b, u32 k, u32 bytes, u32 *flags)
{
    u32 bits = 0;
    *flags = b->partly_defined && !b->carried ? PARTLY_DEFINED : 0;
    for (u32 n = 0; n < bytes; n++) {
        u32 at = 4 * k + n;
        if (!(b->unset >> at & 1))
            continue;
        bool known = b->carried ? (b->carried[at] & KEPT_NUMBER) >= LDS_CARRIED : b->bits != NULL;
        bits |= (known ? b->bits[at] : 0xffu) << 8 * n;
        *flags |= b->carried ? kept_flags(b->carried[at]) : 0;
    }
    return bits;
}

static void loaded(Wave *w, const Inst *i, AddressSpace space, u32 lane, u64 address, u32 bytes, u16 reg, Brought b)
{
    Origin from = {.load = findings_place(w, i, OUTCOME_UNINITIALISED_READ, space, lane, address, bytes, false)};
    u32 first = (u32)__builtin_ctzll(b.unset), width = bytes < 4 ? bytes : 4, run = 1;
    while ((first + run) % width && b.unset >> (first + run) & 1)
        run++;
    from.load.address = address + first;
    from.load.bytes = run;
    if (b.carried)
        from = w->shadow->lds_origins.known[(b.carried[first] & KEPT_NUMBER) - LDS_CARRIED];
    if (reg == 0xffff) { /* used in a computation at once (atomics), or moved to LDS */
        findings_report(w, &from.load, NULL);
        return;
    }
    for (u32 k = 0; 4 * k < bytes; k++) {
        u32 flags, bits = dword_brought(&b, k, width, &flags);
        Part p = {bits, undefined_if_all(bits, flags, width), width, space == SPACE_GLOBAL ? address : 0, bytes};
        if (bits)
            uninit_load(w, i, &from, (u16)(reg + k), 1ull << lane, p);
    }
}

static bool computes(const Inst *i)
{
    return i->row->detail[2] == ACCESS_ATOMIC && !strstr(i->row->mnemonic, "swap") && !strstr(i->row->mnemonic, "xchg");
}

enum { AT_ONCE = 4096 }; /* bytes that are checked as one range */

/* Lanes that store to the launch's own packet or arguments, which the hardware only reads. */
static u64 lanes_in_record(const Dispatch *d, const u64 *address, u64 active)
{
    enum { GRID_SYNC_BYTES = 48 };
    u64 lanes = 0;
    for (u32 l = 0; l < LANES; l++)
        lanes |= (u64)(address[l] - d->dispatch_packet < d->record_bytes) << l;
    for (u32 l = 0; lanes & active && d->grid_sync && l < LANES; l++)
        lanes &= ~((u64)(address[l] - d->grid_sync < GRID_SYNC_BYTES) << l);
    return lanes & active;
}

static void store_to_input(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes)
{
    u64 own = lanes_in_record(w->worker->dispatch, address, active);
    u32 lane = (u32)__builtin_ctzll(own ? own : active);
    Span span;
    if (!own && (!memory_span(w->worker->memory, address[lane], bytes, &span) || !span.input))
        return;
    Fault f = findings_place(w, i, OUTCOME_INPUT_MODIFIED, SPACE_GLOBAL, lane, address[lane], bytes, true);
    findings_report(w, &f, NULL);
}

static bool some_bit_set(Memory *m, u64 word)
{
    u64 unset = memory_unset(m, word, 4);
    for (u32 b = 0; unset == 15 && b < 4; b++)
        if (memory_unset_bits(m, word + b) != 0xff)
            return true;
    return unset != 15;
}

/* Lanes that loaded unset bytes together with set ones, as from structs; bytes and halves count as part of their word. If
 * only one lane did, at the end of what other lanes found set, then an array ends there. */
static u64 partly_defined_lanes(Memory *m, const u64 *unset, const u64 *address, u64 active, u32 bytes)
{
    u64 whole = bytes < 64 ? (1ull << bytes) - 1 : ~0ull, partly_defined = 0, set = 0;
    for (u32 l = 0; bytes < 4 && l < LANES; l++)
        partly_defined |= (u64)(unset[l] && some_bit_set(m, address[l] & ~3ull)) << l;
    if (bytes < 4)
        return partly_defined;
    for (u32 l = 0; l < LANES; l++) {
        partly_defined |= (u64)(unset[l] && unset[l] != whole) << l;
        set |= (u64)(active >> l & 1 && !unset[l]) << l;
    }
    if (!set || !partly_defined || partly_defined & (partly_defined - 1))
        return partly_defined;
    u32 last = (u32)__builtin_ctzll(partly_defined);
    bool ends = ((unset[last] | (unset[last] - 1)) & whole) == whole;
    for (u32 l = 0; l < LANES; l++)
        ends &= !(set >> l & 1) || address[l] < address[last];
    return ends ? 0 : partly_defined;
}

/* The unset bits of each unset byte. False: all bits of all of them. */
static bool bits_unset(Memory *m, u64 address, u64 unset, u32 bytes, u8 *bits)
{
    bool partial = false;
    for (u32 b = 0; b < bytes; b++) {
        bits[b] = unset >> b & 1 ? memory_unset_bits(m, address + b) : 0;
        partial |= unset >> b & 1 && bits[b] != 0xff;
    }
    return partial;
}

/* A load may read unset bytes; a store sets them. */
static void unset_touched(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    Memory *m = w->worker->memory;
    Extent e = extent_of(address, active, bytes);
    if (e.high - e.low <= AT_ONCE && !memory_any_unset(m, e.low, e.high - e.low))
        return;
    bool load = !store || computes(i);
    u16 reg = loaded_register(w, i, NULL, bytes);
    u64 unset[LANES], lanes = 0;
    for (u32 l = 0; l < LANES; l++) {
        unset[l] = active >> l & 1 ? memory_unset(m, address[l], bytes) : 0;
        lanes |= (u64)(unset[l] != 0) << l;
    }
    u64 partly_defined = load && lanes ? uninit_parts(w, address, lanes, partly_defined_lanes(m, unset, address, active, bytes), bytes) : 0;
    for (u32 l = 0; l < LANES; l++) {
        u8 bits[64];
        bool partial = unset[l] && load && bits_unset(m, address[l], unset[l], bytes, bits);
        if (unset[l] && load)
            loaded(w, i, SPACE_GLOBAL, l, address[l], bytes, reg,
                   (Brought){unset[l], partly_defined >> l & 1 || partial, NULL, partial ? bits : NULL});
        if (unset[l] && store)
            memory_set_unset(m, address[l], bytes, false);
    }
}

/* A plain copy keeps the unset bits of its source. */
static void copy_unset(Wave *w, const Inst *i, u16 reg, const u64 *address, u64 active, u32 bytes)
{
    for (u32 l = 0; l < LANES; l++) {
        u8 copied[64] = {0};
        if (active >> l & 1)
            uninit_copied(w, i, reg, address[l], bytes, l, copied);
        for (u32 b = 0; b < bytes; b++)
            if (copied[b])
                memory_set_unset_bits(w->worker->memory, address[l] + b, copied[b]);
    }
}

void uninit_check_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    if (!active)
        return;
    if (store)
        store_to_input(w, i, address, active, bytes);
    else
        kernarg_check(w, i, SPACE_GLOBAL, address, active, bytes);
    bool carries = store && i->row->detail[2] == ACCESS_STORE && uninit_pending(w);
    u16 from = carries ? stored_register(w, i, NULL, bytes) : 0;
    if (carries)
        uninit_stored(w, i, from, address, bytes, active);
    unset_touched(w, i, address, active, bytes, store);
    if (carries)
        copy_unset(w, i, from, address, active, bytes);
}

static u64 unset_in_lds(const GroupShadow *g, u32 offset, u32 bytes)
{
    static const u8 none[64] = {0};
    u64 unset = 0;
    if (!memcmp(g->lds_unset + offset, none, bytes))
        return 0;
    for (u32 k = 0; k < bytes; k++)
        unset |= (u64)(g->lds_unset[offset + k] != 0) << k;
    return unset;
}

static void set_in_lds(GroupShadow *g, u32 offset, u32 bytes)
{
    for (u32 k = 0; k < bytes; k++)
        g->lds_left -= g->lds_unset[offset + k] != 0;
    memset(g->lds_unset + offset, 0, bytes);
}

/* The record of these bytes, if the first unset one was stored to LDS as it is; else NULL. */
static const u8 *carried_bits(const GroupShadow *g, u32 offset, u64 unset)
{
    const u8 *bits_known = &g->lds_unset[offset];
    return (bits_known[__builtin_ctzll(unset)] & KEPT_NUMBER) >= LDS_CARRIED ? bits_known : NULL;
}

/* The lane loads some set bytes; two adjacent places count as one. */
static bool partly_defined_in_lds(const GroupShadow *g, const Inst *i, u32 offset, u32 bytes, bool second)
{
    bool side_by_side = has_two_places(i) && i->row->detail[1] == 1 && i->offset1 == i->offset + 1;
    u32 size = side_by_side ? 2 * bytes : bytes < 4 ? 4 : bytes;
    offset -= side_by_side && second ? bytes : bytes < 4 ? offset % 4 : 0;
    size = size < g->lds_bytes - offset ? size : g->lds_bytes - offset; /* the second place may lie beyond LDS */
    return (u32)__builtin_popcountll(unset_in_lds(g, offset, size)) < size;
}

void uninit_check_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    GroupShadow *g = w->shadow;
    bool load = !store || computes(i);
    if (!active)
        return;
    bool carries = store && i->row->detail[2] == ACCESS_STORE && uninit_pending(w);
    if (!g->lds_left && !carries)
        return;
    u16 reg = load ? loaded_register(w, i, offset, bytes) : 0xffff;
    bool second = is_second_place(w, i, offset, bytes);
    for (u32 l = 0; l < LANES; l++) {
        if (!(active >> l & 1))
            continue;
        u64 unset = load ? unset_in_lds(g, offset[l], bytes) : 0;
        if (unset)
            loaded(w, i, SPACE_LDS, l, offset[l], bytes, reg,
                   (Brought){unset, partly_defined_in_lds(g, i, offset[l], bytes, second), carried_bits(g, offset[l], unset),
                             carried_bits(g, offset[l], unset) ? &g->lds_bits[offset[l]] : NULL});
        if (store)
            set_in_lds(g, offset[l], bytes);
    }
    if (carries)
        uninit_shared(w, i, stored_register(w, i, offset, bytes), offset, active, bytes);
}

void uninit_check_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes)
{
    u16 reg = loaded_register(w, i, offset, bytes);
    for (u32 l = 0; l < LANES; l++) {
        if (!(lanes >> l & 1))
            continue;
        Origin from = {.load = findings_place(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_LDS, l, offset[l], bytes, false)};
        for (u32 k = 0; k < (bytes + 3) / 4; k++)
            uninit_load(w, i, &from, (u16)(reg + k), 1ull << l, (Part){.bits = ~0u, .flags = UNDEFINED, .width = 4});
    }
}

void uninit_check_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    const Memory *m = w->worker->memory;
    kernarg_check(w, i, SPACE_SCALAR, (u64[LANES]){address}, 1, bytes);
    if (!memory_any_unset(m, address, bytes))
        return;
    u64 unset = memory_unset(m, address, bytes);
    if (unset)
        loaded(w, i, SPACE_SCALAR, 0, address, bytes, i->sdst,
               (Brought){.unset = unset, .partly_defined = (u32)__builtin_popcountll(unset) < bytes});
}
