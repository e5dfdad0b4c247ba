/* Scalar ALU: SOP1, SOP2, SOPC and SOPK. */
#include "machine/lanes.h"
#include "machine/lane_math.h"

/* Bit k of the result: any bit of quad k. */
static u64 quad_mask(u64 x)
{
    u64 r = 0;
    for (int q = 0; q < 16; q++)
        r |= (u64)((x >> 4 * q & 15) != 0) << q;
    return r;
}

static u64 whole_quads(u64 x)
{
    u64 r = 0;
    for (int q = 0; q < 16; q++)
        if (x >> 4 * q & 15)
            r |= 15ull << 4 * q;
    return r;
}

static u64 replicate_bits(u32 x)
{
    u64 r = 0;
    for (int k = 0; k < 32; k++)
        r |= (u64)(x >> k & 1) * 3 << 2 * k;
    return r;
}

/* How many bits below the top one equal it, plus one; -1 when all are equal. */
static u32 first_opposite64(i64 x, u32 bits)
{
    u64 differing = (u64)(x ^ (x >> 63));
    u32 n = differing ? (u32)__builtin_clzll(differing) : 64;
    return n >= bits ? ~0u : n;
}

static u64 field_u64(u64 x, u32 offset, u32 width)
{
    x >>= offset;
    return width >= 64 ? x : x & ((1ull << width) - 1);
}

static i64 field_i64(i64 x, u32 offset, u32 width, u32 bits)
{
    if (!width)
        return 0;
    if (offset + width > bits)
        width = bits - offset;
    return (i64)((u64)x << (64 - offset - width)) >> (64 - width);
}

#define READ_U32(k) scalar32(w, i, k)
#define READ_I32(k) (i32)scalar32(w, i, k)
#define READ_U64(k) scalar64(w, i, k)
#define READ_I64(k) (i64)scalar64(w, i, k)
#define WRITE_U32(x) w->s[i->sdst] = (u32)(x)
#define WRITE_I32 WRITE_U32
#define WRITE_U64(x) put_scalar_pair(w, i->sdst, (u64)(x))
#define WRITE_I64 WRITE_U64
#define OLD_U32 w->s[i->sdst]
#define OLD_U64 scalar_pair(w, i->sdst)
#define C_U32 u32
#define C_I32 i32
#define C_U64 u64
#define C_I64 i64
#define READ_F32(k) f32_of(scalar32(w, i, k))
#define READ_F16(k) f16_of((u16)scalar32(w, i, k))
#define WRITE_F32(x) w->s[i->sdst] = bits_f32(x)
#define WRITE_F16(x) w->s[i->sdst] = bits_f16(x)
#define C_F32 float
#define C_F16 float
#define BODY(name) static void name(Wave *w, const Inst *i)

#define S1(name, D, A, value) BODY(name) { C_##A a = READ_##A(0); WRITE_##D(value); }
#define S1K(name, D, A, value) BODY(name) { C_##A a = READ_##A(0); C_##D d = OLD_##D; WRITE_##D(value); }
#define S1Z(name, D, A, value) BODY(name) { C_##A a = READ_##A(0); C_##D r = value; WRITE_##D(r); w->scc = r != 0; }
#define S2(name, D, A, B, value) BODY(name) { C_##A a = READ_##A(0); C_##B b = READ_##B(1); WRITE_##D(value); }
#define S3(name, D, A, B, C, value) \
    BODY(name) { C_##A a = READ_##A(0); C_##B b = READ_##B(1); C_##C c = READ_##C(2); WRITE_##D(value); }
#define S2Z(name, D, A, B, value) \
    BODY(name) { C_##A a = READ_##A(0); C_##B b = READ_##B(1); C_##D r = value; WRITE_##D(r); w->scc = r != 0; }
#define S2C(name, D, A, B, value, carry) \
    BODY(name) \
    { \
        C_##A a = READ_##A(0); \
        C_##B b = READ_##B(1); \
        C_##D r = value; \
        u32 scc = (u32)(carry); \
        WRITE_##D(r); \
        w->scc = scc; \
        (void)b; \
    }
#define COMPARE(name, A, B, value) BODY(name) { C_##A a = READ_##A(0); C_##B b = READ_##B(1); w->scc = (value) != 0; }
#define FLOAT_COMPARES(relation, value) \
    COMPARE(s_cmp_##relation##_f32, F32, F32, value) COMPARE(s_cmp_##relation##_f16, F16, F16, value)
#define IMMEDIATE(name, value, carry) \
    BODY(name) \
    { \
        i32 k = (int16_t)i->raw; \
        u32 d = w->s[i->sdst], r = value, scc = carry; \
        w->s[i->sdst] = r; \
        w->scc = scc; \
        (void)d, (void)k; \
    }
#define COMPARE_IMMEDIATE(name, value) \
    BODY(name) { i32 k = (int16_t)i->raw; u32 u = i->raw & 0xffff, d = READ_U32(0); w->scc = value; (void)k, (void)u; }
#define SAVE_EXEC(name, value) \
    BODY(name) \
    { \
        u64 a = READ_U64(0), e = exec_mask(w), r = value; \
        WRITE_U64(e); \
        put_scalar_pair(w, SGPR_EXEC, r); \
        w->scc = r != 0; \
    }
#define WRITE_EXEC(name, value) \
    BODY(name) \
    { \
        u64 a = READ_U64(0), e = exec_mask(w), r = value; \
        WRITE_U64(r); \
        put_scalar_pair(w, SGPR_EXEC, r); \
        w->scc = r != 0; \
    }

#define SAVE_EXEC32(name, value) \
    BODY(name) \
    { \
        u32 a = READ_U32(0), e = w->s[SGPR_EXEC], r = value; \
        WRITE_U32(e); \
        w->s[SGPR_EXEC] = r; \
        w->scc = r != 0; \
    }
#define WRITE_EXEC32(name, value) \
    BODY(name) \
    { \
        u32 a = READ_U32(0), e = w->s[SGPR_EXEC], r = value; \
        WRITE_U32(r); \
        w->s[SGPR_EXEC] = r; \
        w->scc = r != 0; \
    }

#pragma clang diagnostic ignored "-Wshift-op-parentheses"
#include "isa/sop.def"

#undef S1
#undef S1K
#undef S1Z
#undef S2
#undef S2Z
#undef S2C
#undef S3
#undef COMPARE
#undef IMMEDIATE
#undef COMPARE_IMMEDIATE
#undef SAVE_EXEC
#undef WRITE_EXEC
#undef SAVE_EXEC32
#undef WRITE_EXEC32
#define ROW3(name, in, D, A, B, C) \
    {.mnemonic = #name, .run = name, .layout = in, .family = FAMILY_SALU, .result = D, .source = {A, B, C}},
#define ROW(name, in, D, A, B) ROW3(name, in, D, A, B, TYPE_NONE)
#define S1(name, D, A, value) ROW(name, "s0", TYPE_##D, TYPE_##A, TYPE_NONE)
#define S1K S1
#define S1Z S1
#define S2(name, D, A, B, value) ROW(name, "s01", TYPE_##D, TYPE_##A, TYPE_##B)
#define S2Z S2
#define S3(name, D, A, B, C, value) ROW3(name, "s012", TYPE_##D, TYPE_##A, TYPE_##B, TYPE_##C)
#define S2C(name, D, A, B, value, carry) ROW(name, "s01", TYPE_##D, TYPE_##A, TYPE_##B)
#define COMPARE(name, A, B, value) ROW(name, "01", TYPE_NONE, TYPE_##A, TYPE_##B)
#define IMMEDIATE(name, value, carry) ROW(name, "s-", TYPE_U32, TYPE_NONE, TYPE_NONE)
#define COMPARE_IMMEDIATE(name, value) ROW(name, "0-", TYPE_NONE, TYPE_U32, TYPE_NONE)
#define SAVE_EXEC(name, value) ROW(name, "s0", TYPE_U64, TYPE_U64, TYPE_NONE)
#define WRITE_EXEC SAVE_EXEC
#define SAVE_EXEC32(name, value) ROW(name, "s0", TYPE_U32, TYPE_U32, TYPE_NONE)
#define WRITE_EXEC32 SAVE_EXEC32

static const Row rows[] = {
#include "isa/sop.def"
};

const RowTable isa_sop = {rows, sizeof rows / sizeof *rows};
