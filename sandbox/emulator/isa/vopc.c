/*
 * Vector compares: a mask of the active lanes for which a relation holds.  v_cmpx writes EXEC as well.
 * Source: CDNA3 ISA, "VOPC instructions".
 */
#include "isa/lane_types.h"

/* RDNA's v_cmpx has no result but EXEC. */
static inline void finish(Wave *w, const Inst *i, u64 mask, bool to_exec, bool all_active)
{
    mask &= all_active ? w->all_lanes : write_mask(w, i);
    if (i->sdst < SCALAR_FILE)
        put_lane_bits(w, i->sdst, mask);
    if (to_exec)
        put_scalar_pair(w, SGPR_EXEC, mask);
}

#define COMPARE(name, T, relation, to_exec) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##T(0) SOURCE_##T(1) \
        u8 flags[LANES]; \
        EACH_LANE { C_##T a = GET_##T(p0, l), b = GET_##T(p1, l); (void)a, (void)b, flags[l] = (relation) != 0; } \
        finish(w, i, gather_bits(flags), to_exec, all_active); \
    }

/* Bits of a class mask. */
enum { SIGNALLING = 1, QUIET = 2, NEG_INFINITE = 4, NEG_NORMAL = 8, NEG_TINY = 16, NEG_ZERO = 32, POS_ZERO = 64 };

static u32 class_of(bool sign, bool top, bool bottom, bool any_mantissa, bool quiet)
{
    if (top && any_mantissa)
        return quiet ? QUIET : SIGNALLING;
    u32 negative = top ? NEG_INFINITE : !bottom ? NEG_NORMAL : any_mantissa ? NEG_TINY : NEG_ZERO;
    static const u32 mirrored[] = {[NEG_INFINITE] = 512, [NEG_NORMAL] = 256, [NEG_TINY] = 128, [NEG_ZERO] = POS_ZERO};
    return sign ? negative : mirrored[negative];
}
static u32 class_F16(u32 x)
{
    u32 e = x >> 10 & 31, m = x & 1023;
    return class_of(x >> 15 & 1, e == 31, e == 0, m, m >> 9);
}
static u32 class_F32(u32 x)
{
    u32 e = x >> 23 & 255, m = x & 0x7fffff;
    return class_of(x >> 31, e == 255, e == 0, m, m >> 22);
}
static u32 class_F64(u64 x)
{
    u64 e = x >> 52 & 2047, m = x & 0xfffffffffffffull;
    return class_of(x >> 63, e == 2047, e == 0, m, m >> 51);
}

#define CLASS(name, T, BITS, to_exec) \
    LANE_HANDLER(name) \
    { \
        SOURCE_##T(0) SOURCE_32(1) \
        u64 mask = 0; \
        EACH_LANE mask |= (u64)((class_##T(GET_##BITS(p0, l)) & p1[l]) != 0) << l; \
        finish(w, i, mask, to_exec, all_active); \
    }

/* Every relation, in the order of the opcodes. */
#define FLOATS(X, T, type) \
    X(f, T, type, 0) X(lt, T, type, a < b) X(eq, T, type, a == b) X(le, T, type, a <= b) X(gt, T, type, a > b) \
    X(lg, T, type, a < b || a > b) X(ge, T, type, a >= b) X(o, T, type, a == a && b == b) X(u, T, type, a != a || b != b) \
    X(nge, T, type, !(a >= b)) X(nlg, T, type, !(a < b || a > b)) X(ngt, T, type, !(a > b)) X(nle, T, type, !(a <= b)) \
    X(neq, T, type, !(a == b)) X(nlt, T, type, !(a < b)) X(tru, T, type, 1)
#define INTEGERS(X, T, type) \
    X(f, T, type, 0) X(lt, T, type, a < b) X(eq, T, type, a == b) X(le, T, type, a <= b) X(gt, T, type, a > b) \
    X(ne, T, type, a != b) X(ge, T, type, a >= b) X(t, T, type, 1)
#define ALL(X) \
    FLOATS(X, F16, f16) FLOATS(X, F32, f32) FLOATS(X, F64, f64) INTEGERS(X, I16, i16) INTEGERS(X, U16, u16) \
    INTEGERS(X, I32, i32) INTEGERS(X, U32, u32) INTEGERS(X, I64, i64) INTEGERS(X, U64, u64)
#define CLASSES(X) X(F16, f16, B16) X(F32, f32, U32) X(F64, f64, U64)

#define BODIES(relation, T, t, value) \
    COMPARE(v_cmp_##relation##_##t, T, value, false) COMPARE(v_cmpx_##relation##_##t, T, value, true)
#define CLASS_BODIES(T, t, BITS) CLASS(v_cmp_class_##t, T, BITS, false) CLASS(v_cmpx_class_##t, T, BITS, true)

#pragma clang diagnostic ignored "-Wtautological-compare"
ALL(BODIES)
CLASSES(CLASS_BODIES)

#define ROW(name, in, A, B, mods) \
    {.mnemonic = #name, .run = name, .all_active = name##_all_active, .layout = in, .family = FAMILY_VALU, .source = {A, B}, \
     .lane_sources = 2, \
     .modifiers = (mods) | MOD_SDWA | MOD_DPP},
#define ROWS(relation, T, t, value) \
    ROW(v_cmp_##relation##_##t, "s01", TYPE_##T, TYPE_##T, SOURCE_MODS_##T | MOD_CLAMP) \
    ROW(v_cmpx_##relation##_##t, "s01|01", TYPE_##T, TYPE_##T, SOURCE_MODS_##T | MOD_CLAMP)
#define CLASS_ROWS(T, t, BITS) \
    ROW(v_cmp_class_##t, "s01", TYPE_##T, TYPE_U32, MOD_NEG | MOD_ABS) \
    ROW(v_cmpx_class_##t, "s01|01", TYPE_##T, TYPE_U32, MOD_NEG | MOD_ABS)

static const Row rows[] = {
    ALL(ROWS)
    CLASSES(CLASS_ROWS)
};

const RowTable isa_vopc = {rows, sizeof rows / sizeof *rows};
