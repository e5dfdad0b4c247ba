/*
 * Uninitialised values on their way between memory and registers. What instructions do with them: propagate.c.
 *
 * Loading unset bytes is not a mistake: vectors have spare elements, structures padding, compilers load
 * early what only some lanes need, and block-wide scans compute on lanes beyond their last item. It is a mistake when an
 * observable effect depends on such a value: a branch, an address, a store to memory, an atomic. Until then, what is
 * computed from it is unset too, lane by lane, in registers, LDS and scratch.
 * What was reported once counts as set, so that one mistake is one finding.
 */
#include "checks/uninit/registers.h"

#include <stdlib.h>

#include "host/vectors.h"
#include "machine/lanes.h"

static Uninit *uninit_of(Wave *w)
{
    WaveShadow *s = shadow_of(w);
    if (!s->uninit)
        s->uninit = calloc(1, sizeof *s->uninit);
    return s->uninit;
}

void uninit_destroy(Uninit *t)
{
    if (t)
        free(t->scratch);
    free(t);
}

bool uninit_pending(const Wave *w)
{
    const Uninit *t = shadow_of(w)->uninit;
    return t && (t->live || t->spilled);
}

u8 uninit_origin(Origins *o, const Origin *from)
{
    u32 k = 0;
    while (k < o->count && (o->known[k].load.pc != from->load.pc || o->known[k].load.kind != from->load.kind))
        k++;
    if (k == o->count) {
        k = o->count < MAX_ORIGINS ? o->count++ : MAX_ORIGINS - 1;
        o->known[k] = *from;
    }
    if (!o->known[k].use.at)
        o->known[k].use = from->use;
    return (u8)k;
}

/* ---- unset bits ---- */

static u64 marked_lanes(const u32 *row)
{
    u64 lanes = 0;
    for (u32 l = 0; l < LANES; l += 8)
        lanes |= (u64)nonzero_of_eight(row + l) << l;
    return lanes;
}

void uninit_settle(Uninit *t, u32 reg)
{
    u64 lanes = is_scalar(reg) ? (t->scalar[reg] ? ~0ull : 0) : marked_lanes(t->vector[reg - FIRST_VGPR]);
    t->live += (lanes != 0) - (t->lanes[reg] != 0);
    t->lanes[reg] = lanes;
    t->undefined[reg] &= lanes;
    t->partly_defined[reg] &= lanes;
    t->placed[reg] &= lanes;
}

void uninit_set(Uninit *t, u32 reg, u64 lanes, u32 bits, u32 flags, u8 origin)
{
    if (!bits || !lanes)
        return;
    if (is_scalar(reg))
        t->scalar[reg] |= bits;
    for (u64 left = is_scalar(reg) ? 0 : lanes; left; left &= left - 1)
        t->vector[reg - FIRST_VGPR][__builtin_ctzll(left)] |= bits;
    t->undefined[reg] |= flags & UNDEFINED ? lanes : 0;
    t->partly_defined[reg] |= flags & PARTLY_DEFINED ? lanes : 0;
    t->placed[reg] |= flags & PLACED ? lanes : 0;
    t->origin[reg] = origin;
    t->live += t->lanes[reg] == 0;
    t->lanes[reg] |= is_scalar(reg) ? ~0ull : lanes;
}

void uninit_clear(Uninit *t, u32 reg, u32 bits, u64 lanes)
{
    if (!lanes_of(t, reg))
        return;
    if (is_scalar(reg))
        t->scalar[reg] &= ~bits;
    for (u32 l = 0; !is_scalar(reg) && l < LANES; l++)
        t->vector[reg - FIRST_VGPR][l] &= lanes >> l & 1 ? ~bits : ~0u;
    t->undefined[reg] &= ~lanes;
    t->partly_defined[reg] &= ~lanes;
    t->placed[reg] &= ~lanes;
    uninit_settle(t, reg);
}

void uninit_take(const Uninit *t, u32 reg, DefinedBits *m)
{
    for (u32 l = 0; l < LANES; l++)
        m->bits[l] = bits_of_lane(t, reg, l);
    m->undefined = t->undefined[reg];
    m->partly_defined = t->partly_defined[reg];
    m->placed = t->placed[reg];
    m->origin = t->origin[reg];
}

void uninit_put(Uninit *t, u32 reg, u64 lanes, const DefinedBits *m)
{
    u64 unset = marked_lanes(m->bits) & lanes;
    if (!unset && !lanes_of(t, reg))
        return;
    if (is_scalar(reg))
        t->scalar[reg] = m->bits[0];
    else
        put_masked(t->vector[reg - FIRST_VGPR], m->bits, lanes);
    t->undefined[reg] = (t->undefined[reg] & ~lanes) | (m->undefined & lanes);
    t->partly_defined[reg] = (t->partly_defined[reg] & ~lanes) | (m->partly_defined & lanes);
    t->placed[reg] = (t->placed[reg] & ~lanes) | (m->placed & lanes);
    t->origin[reg] = unset ? m->origin : t->origin[reg];
    uninit_settle(t, reg);
}

u64 uninit_mask_bits(const Wave *w, const Uninit *t, u32 reg)
{
    return w->wave32 ? t->scalar[reg] : pair(t->scalar[reg], t->scalar[reg + 1]);
}

void uninit_put_mask(const Wave *w, Uninit *t, u32 reg, u64 lanes, u8 origin)
{
    for (u32 k = 0; k < (w->wave32 ? 1u : 2u); k++) {
        t->scalar[reg + k] = (u32)(lanes >> 32 * k);
        t->undefined[reg + k] = t->partly_defined[reg + k] = t->placed[reg + k] = 0;
        t->origin[reg + k] = origin;
        uninit_settle(t, reg + k);
    }
}

void uninit_used(Wave *w, const Inst *i, Uninit *t, u32 reg)
{
    const Origin *from = &t->origins.known[t->origin[reg]];
    Place here = findings_code_place(w, i);
    findings_report(w, &from->load, from->use.at ? &from->use : &here);
    uninit_clear(t, reg, ~0u, ~0ull);
}

void uninit_record_use(const Wave *w, const Inst *i, Uninit *t, u8 origin)
{
    Origin *from = &t->origins.known[origin];
    if (!from->use.at)
        from->use = findings_code_place(w, i);
}

/* ---- loads ---- */

/* How the result of a load fills its register. */
typedef struct { const Row *row; bool sign, half, upper; } Filling;

static Filling filling_of(const Inst *i)
{
    const char *name = i->row->mnemonic;
    bool sign = strstr(name, "_sbyte") || strstr(name, "_sshort") || strstr(name, "_i8") || strstr(name, "_i16");
    return (Filling){i->row, sign, strstr(name, "d16"), strstr(name, "d16_hi")};
}

/* What was loaded into a register, of `width` bytes. A sign fills the bytes above them; a half does not fill the register. */
static void set_loaded(Uninit *t, const Inst *i, u32 reg, u64 lanes, u32 bits, u32 flags, u32 width, u8 origin)
{
    static _Thread_local Filling f; /* an instruction loads lane by lane */
    if (f.row != i->row)
        f = filling_of(i);
    if (f.sign && width < 4 && bits >> (8 * width - 1) & 1)
        bits |= (f.half ? 0xffff : ~0u) & ~((1u << 8 * width) - 1);
    uninit_set(t, reg, lanes, f.upper ? bits << 16 : bits, f.half ? flags & ~(u32)UNDEFINED : flags, origin);
}

void uninit_load(Wave *w, const Inst *i, const Origin *from, u16 reg, u64 lane_bit, Part p)
{
    Uninit *t = uninit_of(w);
    if (!t || !is_register(reg))
        return;
    u8 origin = uninit_origin(&t->origins, from);
    if (p.address) {
        t->loaded[origin].address[__builtin_ctzll(lane_bit)] = p.address;
        t->loaded[origin].bytes = p.bytes;
        p.flags |= PLACED;
    }
    set_loaded(t, i, reg, is_scalar(reg) ? ~0ull : lane_bit, p.bits, p.flags, p.width, origin);
    if (w->stop == STOP_NONE)
        w->stop = STOP_MODE; /* to the loop that checks every instruction */
}

/* ---- stores to global memory ---- */

/* Lanes whose register holds no set bits. */
static u64 unset_alone(const Uninit *t, u32 reg)
{
    u64 lanes = t->undefined[reg];
    for (u32 l = 0; l < LANES; l++)
        lanes |= (u64)(bytes_of(bits_of_lane(t, reg, l)) == ALL_BYTES) << l;
    return lanes;
}

/* Lanes in which one of these bytes is unset. */
static u64 unset_in(const Uninit *t, u32 reg, u32 bytes)
{
    u64 lanes = 0;
    for (u32 l = 0; l < LANES; l++)
        lanes |= (u64)((bits_of_lane(t, reg, l) & bits_of(bytes)) != 0) << l;
    return lanes;
}

/* Lanes that store something set. */
static u64 stores_set(const Uninit *t, u32 reg, u32 bytes)
{
    u64 lanes = 0;
    for (u32 k = 0; 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++)
        for (u32 l = 0; l < LANES; l++)
            lanes |= (u64)(bits_of_lane(t, reg + k, l) != ~0u && !(t->undefined[reg + k] >> l & 1)) << l;
    return lanes;
}

static bool goes_on(u64 end, u64 address, u32 bytes)
{
    enum { BLOCK = 16 };         /* the largest usual alignment of structs */
    return address <= end && address + bytes >= end && address / BLOCK == (end - 1) / BLOCK;
}

/* Lanes whose access directly follows a partly set one: compilers split structs, even when the remainder is only
 * padding. */
static u64 lanes_going_on(const u64 *ends, const u64 *address, u32 bytes)
{
    u64 lanes = 0;
    for (u32 l = 0; l < LANES; l++)
        lanes |= (u64)goes_on(ends[l], address[l], bytes) << l;
    return lanes;
}

static void annotate_ends(u64 *ends, const u64 *address, u64 lanes, u32 bytes)
{
    for (u32 l = 0; l < LANES; l++)
        ends[l] = lanes >> l & 1 ? address[l] + bytes : ends[l];
}

u64 uninit_parts(Wave *w, const u64 *address, u64 unset, u64 partly_defined, u32 bytes)
{
    Uninit *t = bytes < 4 ? NULL : uninit_of(w);
    if (!t)
        return partly_defined;
    partly_defined |= unset & lanes_going_on(t->loaded_end, address, bytes);
    annotate_ends(t->loaded_end, address, partly_defined, bytes);
    return partly_defined;
}

static u64 partly_defined_in_any(const Uninit *t, u16 reg, u32 bytes)
{
    u64 lanes = 0;
    for (u32 k = 0; 4 * k < bytes; k++)
        lanes |= t->partly_defined[reg + k];
    return lanes;
}

/* A store to the place of the load, with some bits changed or some lanes only, is not a use: this is how bit-fields are
 * written. */
static bool in_place(const Uninit *t, u32 reg, u32 lane, u64 address)
{
    const Loaded *from = &t->loaded[t->origin[reg]];
    return t->placed[reg] >> lane & 1 && address - from->address[lane] < from->bytes;
}

static u64 lanes_in_place(const Uninit *t, u32 reg, const u64 *address, u32 offset)
{
    u64 lanes = 0;
    for (u32 l = 0; t->placed[reg] && l < LANES; l++)
        lanes |= (u64)in_place(t, reg, l, address[l] + offset) << l;
    return lanes;
}

/* Structs are copied as they are: a value that was loaded partly set and is stored unchanged is padding or an unused
 * member. Compilers copy the gaps between changed members separately. */
void uninit_stored(Wave *w, const Inst *i, u16 reg, const u64 *address, u32 bytes, u64 lanes)
{
    Uninit *t = shadow_of(w)->uninit;
    if (!t || !t->live || reg + (bytes + 3) / 4 > REGISTER_NUMBERS)
        return;
    u64 copied = stores_set(t, reg, bytes) | lanes_going_on(t->copied_end, address, bytes);
    if (bytes >= 4)
        annotate_ends(t->copied_end, address, copied & lanes & partly_defined_in_any(t, reg, bytes), bytes);
    for (u32 k = 0; 4 * k < bytes; k++) {
        u64 unset = bytes < 4 ? unset_in(t, reg, moved_bytes(i, bytes)) : unset_alone(t, reg + k);
        unset &= ~(t->partly_defined[reg + k] & (bytes < 4 ? ~0ull : copied)) & ~lanes_in_place(t, reg + k, address, 4 * k);
        if (unset & lanes)
            uninit_used(w, i, t, reg + k);
    }
}

/* The unset bits of the part of a lane's dword that is stored, `width` bytes of it. */
static u32 bits_stored(const Uninit *t, const Inst *i, u32 reg, u32 lane, u32 width)
{
    u32 stored = moved_bytes(i, width);
    return (bits_of_lane(t, reg, lane) & bits_of(stored)) >> (stored & 1 ? 0 : 16);
}

static u32 width_at(u32 k, u32 bytes) { return bytes - 4 * k < 4 ? bytes - 4 * k : 4; }

void uninit_copied(const Wave *w, const Inst *i, u16 reg, u64 address, u32 bytes, u32 lane, u8 *bits)
{
    const Uninit *t = shadow_of(w)->uninit;
    for (u32 k = 0; t && t->live && 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++) {
        if (!(flags_of_lane(t, reg + k, lane) & PARTLY_DEFINED) && !in_place(t, reg + k, lane, address + 4 * k))
            continue;
        u32 unset = bits_stored(t, i, reg + k, lane, width_at(k, bytes));
        memcpy(bits + 4 * k, &unset, width_at(k, bytes));
    }
}

/* ---- LDS ---- */

void uninit_shared(Wave *w, const Inst *i, u16 reg, const u32 *offset, u64 active, u32 bytes)
{
    GroupShadow *g = w->shadow;
    const Uninit *t = shadow_of(w)->uninit;
    for (u32 k = 0; t && t->live && 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++) {
        u64 lanes = lanes_of(t, reg + k) & active;
        if (!lanes)
            continue;
        u32 carried = LDS_CARRIED + uninit_origin(&g->lds_origins, &t->origins.known[t->origin[reg + k]]);
        for (u32 l = 0; l < LANES; l++) {
            u32 unset = lanes >> l & 1 ? bits_stored(t, i, reg + k, l, width_at(k, bytes)) : 0;
            for (u32 b = 0; b < 4 && unset >> 8 * b; b++) {
                u32 at = offset[l] + 4 * k + b;
                if (!(unset >> 8 * b & 0xff))
                    continue;
                g->lds_left += !g->lds_unset[at];
                g->lds_unset[at] = (u8)kept_mark(carried, flags_of_lane(t, reg + k, l) & ~(u32)PLACED);
                g->lds_bits[at] = (u8)(unset >> 8 * b);
            }
        }
    }
}

/* ---- scratch ---- */

static Kept *kept_in_scratch(Wave *w, Uninit *t, u32 lane, u64 at)
{
    if (!t->scratch)
        t->scratch = calloc(LANES * (size_t)w->scratch_bytes + 1, sizeof *t->scratch);
    return t->scratch && at < w->scratch_bytes ? &t->scratch[lane * (u64)w->scratch_bytes + at] : NULL;
}

static void spill_lane(Wave *w, const Inst *i, Uninit *t, u32 reg, u32 lane, u64 at, u32 width)
{
    u32 unset = bits_stored(t, i, reg, lane, width), flags = flags_of_lane(t, reg, lane);
    for (u32 b = 0; b < width; b++) {
        Kept *kept = kept_in_scratch(w, t, lane, at + b);
        u8 bits = (u8)(unset >> 8 * b);
        if (kept)
            *kept = (Kept){bits ? kept_mark(t->origin[reg] + 1u, flags) : 0, bits};
    }
}

static void spill(Wave *w, const Inst *i, Uninit *t, const u32 *offset, u64 active, u32 bytes)
{
    u16 reg = i->source[2];
    for (u32 k = 0; 4 * k < bytes && reg < REGISTER_NUMBERS && reg + k < REGISTER_NUMBERS; k++) {
        bool unset = lanes_of(t, reg + k) & active;
        if (!unset && !t->spilled)
            continue;
        for (u32 l = 0; l < LANES; l++)
            if (active >> l & 1)
                spill_lane(w, i, t, reg + k, l, (u64)offset[l] + 4 * k, width_at(k, bytes));
        t->spilled |= unset;
    }
}

static void reload(Wave *w, const Inst *i, Uninit *t, u32 reg, u32 lane, u64 at, u32 width)
{
    u32 bits = 0, flags = 0;
    u8 origin = 0;
    for (u32 b = 0; b < width; b++) {
        const Kept *kept = kept_in_scratch(w, t, lane, at + b);
        if (kept && kept->mark) {
            bits |= (u32)kept->bits << 8 * b;
            flags |= kept_flags(kept->mark);
            origin = (u8)((kept->mark & KEPT_NUMBER) - 1);
        }
    }
    if (bits)
        set_loaded(t, i, reg, 1ull << lane, bits, undefined_if_all(bits, flags, width), width, origin);
}

void uninit_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    Uninit *t = shadow_of(w)->uninit;
    if (!t || !(t->live || t->spilled))
        return;
    if (store) {
        spill(w, i, t, offset, active, bytes);
        return;
    }
    for (u32 k = 0; t->spilled && i->dst + k < REGISTER_NUMBERS && 4 * k < bytes; k++)
        for (u32 l = 0; l < LANES; l++)
            if (active >> l & 1)
                reload(w, i, t, i->dst + k, l, (u64)offset[l] + 4 * k, width_at(k, bytes));
}
