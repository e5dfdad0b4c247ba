#include "model/shifts.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_GROUPS = 1 << 16, MOST_SHIFTS = 1 << 24 };

static i64 *shift_of(const Subset *s, u64 number, u32 slot) { return &s->shift[number * (s->slots + 1) + slot]; }

static void forget(Subset *s)
{
    free(s->shift);
    free(s->cell);
    s->shift = NULL;
    s->cell = NULL;
}

/* ---- what each workgroup's first steps show ---- */

/* `known`: of each slot, whether all workgroups showed it. Their addresses become distances from the first workgroup. */
static void take_addresses(Subset *s, FirstAddress *of, void *context, bool *known)
{
    memset(known, true, s->slots + 1);
    for (u64 g = 0; g < s->total; g++)
        for (u32 inst = 0; inst < s->dispatch->program->count; inst++) {
            u32 slot = s->slot_of[inst];
            u64 address = 0;
            if (slot)
                known[slot] &= of(context, g, inst, &address);
            if (slot)
                *shift_of(s, g, slot) = (i64)address;
        }
    for (u64 g = s->total; g-- > 0;)
        for (u32 slot = 1; slot <= s->slots; slot++)
            *shift_of(s, g, slot) -= *shift_of(s, 0, slot);
}

/* ---- the others ---- */

/* In a member, the address of a slot less that in the member `from`; false: one of them did not get there. */
static bool distance(const Subset *s, const SubsetMember *from, const SubsetMember *m, u32 slot, double *by)
{
    const Did *a = NULL, *b = NULL;
    for (u32 i = 0; i < from->did_count; i++)
        a = s->slot_of[from->did[i].inst] == slot && from->did[i].reach.lanes ? &from->did[i] : a;
    for (u32 i = 0; i < m->did_count; i++)
        b = s->slot_of[m->did[i].inst] == slot && m->did[i].reach.lanes ? &m->did[i] : b;
    if (!a || !b)
        return false;
    *by = (double)(i64)(b->reach.first - a->reach.first);
    return true;
}

static double known_distance(const Subset *s, const SubsetMember *from, const SubsetMember *m, u32 slot)
{
    return (double)(*shift_of(s, m->number, slot) - *shift_of(s, from->number, slot));
}

/* Two known slots whose distances are not multiples of each other; the second is 0 where there is none. */
static void choose_basis(const Subset *s, const bool *known, u32 *basis)
{
    basis[0] = basis[1] = 0;
    const SubsetMember *from = &s->member[0];
    for (u32 slot = 1; slot <= s->slots && !basis[1]; slot++) {
        for (u32 m = 1; known[slot] && m < s->count && !basis[1]; m++) {
            double by = known_distance(s, from, &s->member[m], slot);
            if (!basis[0]) {
                basis[0] = by != 0 ? slot : 0;
                continue;
            }
            for (u32 n = 1; n < s->count && !basis[1] && slot != basis[0]; n++) {
                double a = known_distance(s, from, &s->member[m], basis[0]), b = known_distance(s, from, &s->member[n], basis[0]);
                if (a * known_distance(s, from, &s->member[n], slot) != by * b)
                    basis[1] = slot;
            }
        }
    }
}

/* The distance of a slot is part[0] times that of basis[0] and part[1] times that of basis[1]: of two members it follows. */
static bool solve(const Subset *s, const u32 *basis, u32 slot, double *part)
{
    const SubsetMember *from = &s->member[0];
    for (u32 m = 1; m < s->count; m++)
        for (u32 n = m + 1; n < s->count; n++) {
            const SubsetMember *x = &s->member[m], *y = &s->member[n];
            double a = known_distance(s, from, x, basis[0]), b = basis[1] ? known_distance(s, from, x, basis[1]) : 0;
            double c = known_distance(s, from, y, basis[0]), d = basis[1] ? known_distance(s, from, y, basis[1]) : 1;
            double u, v, determinant = a * d - b * c;
            if (determinant == 0 || !distance(s, from, x, slot, &u) || !distance(s, from, y, slot, &v))
                continue;
            part[0] = basis[1] ? (u * d - b * v) / determinant : u / a;
            part[1] = basis[1] ? (a * v - u * c) / determinant : 0;
            return true;
        }
    return false;
}

static bool combine(Subset *s, bool *known)
{
    u32 basis[2];
    choose_basis(s, known, basis);
    for (u32 slot = 1; slot <= s->slots; slot++) {
        double part[2];
        if (known[slot])
            continue;
        if (!basis[0] || !solve(s, basis, slot, part))
            return false;
        for (u64 g = 0; g < s->total; g++) {
            double second = basis[1] ? part[1] * (double)*shift_of(s, g, basis[1]) : 0;
            *shift_of(s, g, slot) = llround(part[0] * (double)*shift_of(s, g, basis[0]) + second);
        }
    }
    return true;
}

/* ---- all of it ---- */

static void number_cells(Subset *s)
{
    for (u64 g = 0; g < s->total; g++) {
        u64 mix = 0;
        for (u32 slot = 1; slot <= s->slots; slot++)
            mix = subset_mix(mix + (u64)(*shift_of(s, g, slot) & (LINE_BYTES - 1)) + slot);
        s->cell[g] = (u32)mix;
    }
}

bool shifts_find(Subset *s, FirstAddress *of, void *context)
{
    if (s->count < 3 || s->total > MOST_GROUPS || s->total * (s->slots + 1) > MOST_SHIFTS)
        return false;
    s->shift = calloc(s->total * (s->slots + 1), sizeof *s->shift);
    s->cell = calloc(s->total, sizeof *s->cell);
    bool *known = calloc(s->slots + 1, sizeof *known), found = s->shift && s->cell && known;
    if (found) {
        take_addresses(s, of, context, known);
        found = combine(s, known);
    }
    if (found)
        number_cells(s);
    else
        forget(s);
    free(known);
    return found;
}
