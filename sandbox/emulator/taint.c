/*
 * Unset values on their way between memory and registers. What instructions make of them: taint_flow.c.
 *
 * That a load brings unset bytes along is no mistake: vectors have spare elements, structures padding, compilers load
 * early what only some lanes need, and block-wide scans compute on lanes beyond their last item. It is one as soon as
 * something that shows depends on such a value: a branch, an address, a store to memory, an atomic. Until then what is
 * computed with it is as unset as it is itself, lane by lane, in registers, LDS and scratch.
 * What was told once counts as set, so that one mistake is one finding.
 */
#include "taint.h"

#include <stdlib.h>

static Taint *taint_of(Wave *w)
{
    WaveShadow *s = shadow_of(w);
    if (!s->taint)
        s->taint = calloc(1, sizeof *s->taint);
    return s->taint;
}

void taint_destroy(Taint *t)
{
    if (t)
        free(t->scratch);
    free(t);
}

bool taint_pending(const Wave *w)
{
    const Taint *t = shadow_of(w)->taint;
    return t && (t->live || t->spilled);
}

static u8 origin_for(Origins *o, const Origin *from)
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

/* What came into a register, of `width` bytes. A sign goes on above them; a half of a register does not fill it. */
static void mark_loaded(Taint *t, const Inst *i, u32 reg, u64 lanes, u32 planes, u32 width, u8 origin)
{
    const char *name = i->row->mnemonic;
    bool sign = width < 4 && (strstr(name, "_sbyte") || strstr(name, "_sshort") || strstr(name, "_i8") || strstr(name, "_i16"));
    bool half = strstr(name, "d16");
    if (sign && planes >> (width - 1) & 1)
        planes |= (half ? LOWER : ALL_BYTES) & ~((1u << width) - 1);
    if (half)
        planes &= ~(u32)BLANK;
    u32 bytes = planes & ALL_BYTES;
    mark(t, reg, (strstr(name, "d16_hi") ? bytes << 2 : bytes) | (planes & ~(u32)ALL_BYTES), lanes, origin);
}

void taint_load(Wave *w, const Inst *i, const Origin *from, u16 reg, u64 lane_bit, u32 planes, u32 width)
{
    Taint *t = taint_of(w);
    if (!t || reg >= REGISTER_NUMBERS)
        return;
    mark_loaded(t, i, reg, reg < FIRST_VGPR ? ~0ull : lane_bit, planes, width, origin_for(&t->origins, from));
    if (w->stop == STOP_NONE)
        w->stop = STOP_MODE; /* to the loop that looks at every instruction */
}

/* Lanes that store something set. */
static u64 stores_set(const Taint *t, u32 reg, u32 bytes)
{
    u64 lanes = 0;
    for (u32 k = 0; 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++)
        lanes |= ~unset_alone(t, reg + k);
    return lanes;
}

/* Structs are copied as they are: what was loaded with something set, and is stored so again, is padding or a member that
 * is not in use. Compilers copy the gaps between members that change in pieces of their own. */
void taint_stored(Wave *w, const Inst *i, u16 reg, u32 bytes, u64 lanes)
{
    Taint *t = shadow_of(w)->taint;
    if (!t || !t->live)
        return;
    u64 set = stores_set(t, reg, bytes);
    for (u32 k = 0; 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++) {
        u64 unset = bytes < 4 ? unset_in(t, reg, moved_bytes(i, bytes)) & ~t->plane[reg][PLANE_MIXED]
                              : unset_alone(t, reg + k) & ~(t->plane[reg + k][PLANE_MIXED] & set);
        if (unset & lanes)
            used(w, i, t, reg + k);
    }
}

/* What is known of a lane's dword as far as it is stored, `width` bytes of it. */
static u32 planes_stored(const Taint *t, const Inst *i, u32 reg, u32 lane, u32 width)
{
    u32 planes = planes_of_lane(t, reg, lane), stored = moved_bytes(i, width);
    return (planes & stored) >> (stored & 1 ? 0 : 2) | (planes & ~(u32)ALL_BYTES);
}

u64 taint_copied(const Wave *w, const Inst *i, u16 reg, u32 bytes, u32 lane)
{
    const Taint *t = shadow_of(w)->taint;
    u64 copied = 0;
    for (u32 k = 0; t && t->live && 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++) {
        u32 planes = planes_stored(t, i, reg + k, lane, bytes - 4 * k < 4 ? bytes - 4 * k : 4);
        copied |= planes & MIXED ? (u64)(planes & ALL_BYTES) << 4 * k : 0;
    }
    return copied;
}

/* ---- LDS ---- */

void taint_shared(Wave *w, const Inst *i, u16 reg, const u32 *offset, u64 active, u32 bytes)
{
    GroupShadow *g = w->shadow;
    const Taint *t = shadow_of(w)->taint;
    for (u32 k = 0; t && t->live && 4 * k < bytes && reg + k < REGISTER_NUMBERS; k++) {
        u64 lanes = lanes_of(t, reg + k) & active;
        if (!lanes)
            continue;
        u32 carried = LDS_CARRIED + origin_for(&g->lds_origins, &t->origins.known[t->origin[reg + k]]);
        for (u32 l = 0; l < LANES; l++) {
            u32 planes = lanes >> l & 1 ? planes_stored(t, i, reg + k, l, bytes - 4 * k < 4 ? bytes - 4 * k : 4) : 0;
            for (u32 b = 0; b < 4; b++) {
                u8 *at = &g->lds_unset[offset[l] + 4 * k + b];
                g->lds_left += planes >> b & 1 && !*at;
                *at = planes >> b & 1 ? kept_mark(carried, planes) : *at;
            }
        }
    }
}

/* ---- scratch ---- */

static u8 *scratch_mark(Wave *w, Taint *t, u32 lane, u64 at)
{
    if (!t->scratch)
        t->scratch = calloc(LANES, w->scratch_bytes + 1);
    return t->scratch && at < w->scratch_bytes ? &t->scratch[lane * (u64)w->scratch_bytes + at] : NULL;
}

static void spill(Wave *w, const Inst *i, Taint *t, const u32 *offset, u64 active, u32 bytes)
{
    u16 reg = i->source[2];
    for (u32 k = 0; 4 * k < bytes && reg < REGISTER_NUMBERS && reg + k < REGISTER_NUMBERS; k++) {
        u64 lanes = lanes_of(t, reg + k) & active;
        if (!lanes && !t->spilled)
            continue;
        u32 width = bytes - 4 * k < 4 ? bytes - 4 * k : 4;
        for (u32 l = 0; l < LANES; l++) {
            u32 planes = lanes >> l & 1 ? planes_stored(t, i, reg + k, l, width) : 0;
            for (u32 b = 0; active >> l & 1 && b < width; b++) {
                u8 *at = scratch_mark(w, t, l, (u64)offset[l] + 4 * k + b);
                if (at)
                    *at = planes >> b & 1 ? kept_mark(t->origin[reg + k] + 1u, planes) : 0;
            }
        }
        t->spilled |= lanes != 0;
    }
}

static void reload(Wave *w, const Inst *i, Taint *t, u32 reg, u32 lane, u64 at, u32 width)
{
    u32 planes = 0;
    u8 origin = 0;
    for (u32 b = 0; b < width; b++) {
        const u8 *mark_here = scratch_mark(w, t, lane, at + b);
        if (mark_here && *mark_here) {
            planes |= 1u << b | kept_planes(*mark_here);
            origin = (u8)((*mark_here & KEPT_NUMBER) - 1);
        }
    }
    if (planes)
        mark_loaded(t, i, reg, 1ull << lane, blank_if_all(planes, width), width, origin);
}

void taint_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store)
{
    Taint *t = shadow_of(w)->taint;
    if (!t || !(t->live || t->spilled))
        return;
    if (store) {
        spill(w, i, t, offset, active, bytes);
        return;
    }
    for (u32 k = 0; t->spilled && i->dst + k < REGISTER_NUMBERS && 4 * k < bytes; k++)
        for (u32 l = 0; l < LANES; l++)
            if (active >> l & 1)
                reload(w, i, t, i->dst + k, l, (u64)offset[l] + 4 * k, bytes - 4 * k < 4 ? bytes - 4 * k : 4);
}
