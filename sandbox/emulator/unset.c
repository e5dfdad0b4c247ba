/* Loads of bytes that nothing has written, and stores that write them: global memory, LDS, scalar loads. */
#include "shadow.h"
#include "watch.h"

/* The register that receives the first dword of a load, or 0xffff. LDS loads of two places come in two steps. */
static u16 loaded_register(const Wave *w, const Inst *i, const u32 *offset, u32 bytes)
{
    bool two = i->row->family == FAMILY_LDS && i->row->modifiers & MOD_OFFSET01;
    u32 unit = bytes * i->row->detail[1];
    if (i->row->detail[2] != ACCESS_LOAD || i->lds || i->dst == 0xffff)
        return 0xffff;
    if (!two || !offset)
        return i->dst;
    u32 lane = exec_mask(w) ? (u32)__builtin_ctzll(exec_mask(w)) : 0;
    bool first = offset[lane] == w->v[i->source[0] - FIRST_VGPR][lane] + (u32)i->offset * unit;
    return (u16)(first ? i->dst : i->dst + bytes / 4);
}

/* Likewise the register that holds the first dword of what is stored. */
static u16 stored_register(const Wave *w, const Inst *i, const u32 *offset, u32 bytes)
{
    if (i->row->detail[2] != ACCESS_STORE)
        return 0xffff;
    if (i->row->family != FAMILY_LDS)
        return i->source[2];
    bool two = i->row->modifiers & MOD_OFFSET01;
    u32 lane = exec_mask(w) ? (u32)__builtin_ctzll(exec_mask(w)) : 0, unit = bytes * i->row->detail[1];
    bool first = !two || offset[lane] == w->v[i->source[0] - FIRST_VGPR][lane] + (u32)i->offset * unit;
    return i->source[1] == SOURCE_OFF ? i->source[0] : i->source[first ? 1 : 2];
}

/* What a lane's load brought: `unset` has a bit for each byte. `carried`: where it comes from, if it was stored to LDS as
 * it is. */
static void loaded(Wave *w, const Inst *i, AddressSpace space, u32 lane, u64 address, u32 bytes, u64 unset, u16 reg,
                   const Origin *carried)
{
    Origin from = {.load = place_of(w, i, OUTCOME_UNINITIALISED_READ, space, lane, address, bytes, false)};
    u32 first = (u32)__builtin_ctzll(unset), width = bytes < 4 ? bytes : 4;
    from.load.address = address + first / width * width;
    from.load.bytes = width;
    from = carried ? *carried : from;
    if (reg == 0xffff) { /* computed with at once (atomics), or moved to LDS */
        report_finding(w, &from.load, NULL);
        return;
    }
    for (u32 k = 0; 4 * k < bytes; k++) {
        u32 dword = (u32)(unset >> 4 * k) & ((1u << width) - 1);
        if (dword)
            taint_load(w, i, &from, (u16)(reg + k), 1ull << lane, dword, width);
    }
}

static bool computes(const Inst *i)
{
    return i->row->detail[2] == ACCESS_ATOMIC && !strstr(i->row->mnemonic, "swap") && !strstr(i->row->mnemonic, "xchg");
}

/* Lowest address and size of what all lanes touch together. */
static void extent(const u64 *address, u64 active, u32 bytes, u64 *low, u64 *size)
{
    u64 high = 0;
    *low = ~0ull;
    for (int l = 0; l < LANES; l++)
        if (active >> l & 1) {
            *low = address[l] < *low ? address[l] : *low;
            high = address[l] > high ? address[l] : high;
        }
    *size = high + bytes - *low;
}

enum { AT_ONCE = 4096 }; /* bytes that are looked at as one range */

static void store_to_input(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes)
{
    u32 lane = (u32)__builtin_ctzll(active);
    const Dispatch *d = w->worker->dispatch;
    Span span;
    bool argument = address[lane] - d->kernarg < d->kernarg_bytes;
    if (!argument && (!memory_span(w->worker->memory, address[lane], bytes, &span) || !span.input))
        return;
    Fault f = place_of(w, i, OUTCOME_INPUT_MODIFIED, SPACE_GLOBAL, lane, address[lane], bytes, true);
    report_finding(w, &f, NULL);
}

void check_unset_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store)
{
    Memory *m = w->worker->memory;
    u64 low, size;
    if (!active)
        return;
    if (store)
        store_to_input(w, i, address, active, bytes);
    if (store && i->row->detail[2] == ACCESS_STORE && taint_pending(w))
        taint_stored(w, i, stored_register(w, i, NULL, bytes), bytes, active);
    extent(address, active, bytes, &low, &size);
    if (size <= AT_ONCE && !memory_any_unset(m, low, size))
        return;
    bool load = !store || computes(i);
    u16 reg = loaded_register(w, i, NULL, bytes);
    for (u32 l = 0; l < LANES; l++) {
        u64 unset = active >> l & 1 ? memory_unset(m, address[l], bytes) : 0;
        if (unset && load)
            loaded(w, i, SPACE_GLOBAL, l, address[l], bytes, unset, reg, NULL);
        if (unset && store)
            memory_set_unset(m, address[l], bytes, false);
    }
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

/* Where the first of these bytes comes from, if it was stored here; else NULL. */
static const Origin *stored_origin(const GroupShadow *g, u32 offset, u64 unset)
{
    u8 mark = g->lds_unset[offset + (u32)__builtin_ctzll(unset)];
    return mark >= LDS_CARRIED ? &g->lds_origins.known[mark - LDS_CARRIED] : NULL;
}

void check_unset_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    GroupShadow *g = w->shadow;
    bool load = !store || computes(i);
    if (!active)
        return;
    bool carries = store && i->row->detail[2] == ACCESS_STORE && taint_pending(w);
    if (!g->lds_left && !carries)
        return;
    u16 reg = load ? loaded_register(w, i, offset, bytes) : 0xffff;
    for (u32 l = 0; l < LANES; l++) {
        if (!(active >> l & 1))
            continue;
        u64 unset = load ? unset_in_lds(g, offset[l], bytes) : 0;
        if (unset)
            loaded(w, i, SPACE_LDS, l, offset[l], bytes, unset, reg,
                   stored_origin(g, offset[l], unset));
        if (store)
            set_in_lds(g, offset[l], bytes);
    }
    if (carries)
        taint_shared(w, i, stored_register(w, i, offset, bytes), offset, active, bytes);
}

void check_beyond_lds(Wave *w, const Inst *i, const u32 *offset, u64 lanes, u32 bytes)
{
    u16 reg = loaded_register(w, i, offset, bytes);
    for (u32 l = 0; l < LANES; l++) {
        if (!(lanes >> l & 1))
            continue;
        Origin from = {.load = place_of(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_LDS, l, offset[l], bytes, false)};
        for (u32 k = 0; k < (bytes + 3) / 4; k++)
            taint_load(w, i, &from, (u16)(reg + k), 1ull << l, 15, 4);
    }
}

void check_unset_scalar(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    const Memory *m = w->worker->memory;
    if (!memory_any_unset(m, address, bytes))
        return;
    u64 unset = memory_unset(m, address, bytes);
    if (unset)
        loaded(w, i, SPACE_SCALAR, 0, address, bytes, unset, i->sdst, NULL);
}
