/* Read-modify-write, lane after lane. Other workgroups run on other threads, so in memory each one is a host atomic. */
#include "machine/atomics.h"

#include "machine/fault.h"
#include "machine/lane_math.h"
#include "machine/lanes.h"

static u32 add_halves(u32 a, u32 b, float (*value)(u16), u16 (*bits)(float))
{
    return bits(value((u16)a) + value((u16)b)) | (u32)bits(value((u16)(a >> 16)) + value((u16)(b >> 16))) << 16;
}

/* The new value from the old one, the operand v and (compare and swap, masked or) the second operand c. */
static u32 apply32(AtomicOp op, u32 old, u32 v, u32 c)
{
    switch (op) {
    case ATOMIC_ADD: return old + v;
    case ATOMIC_SUB: return old - v;
    case ATOMIC_RSUB: return v - old;
    case ATOMIC_SMIN: return (i32)old < (i32)v ? old : v;
    case ATOMIC_UMIN: return old < v ? old : v;
    case ATOMIC_SMAX: return (i32)old > (i32)v ? old : v;
    case ATOMIC_UMAX: return old > v ? old : v;
    case ATOMIC_AND: return old & v;
    case ATOMIC_OR: return old | v;
    case ATOMIC_XOR: return old ^ v;
    case ATOMIC_INC: return old >= v ? 0 : old + 1;
    case ATOMIC_DEC: return old == 0 || old > v ? v : old - 1;
    case ATOMIC_SWAP: return v;
    case ATOMIC_CMPSWAP: return old == c ? v : old;
    case ATOMIC_FADD: return bits_f32(f32_of(old) + f32_of(v));
    case ATOMIC_FMIN: return f32_of(v) < f32_of(old) ? v : old;
    case ATOMIC_FMAX: return f32_of(v) > f32_of(old) ? v : old;
    case ATOMIC_FCMPSWAP: return f32_of(old) == f32_of(c) ? v : old;
    case ATOMIC_PK_FADD: return add_halves(old, v, f16_of, bits_f16);
    case ATOMIC_PK_BFADD: return add_halves(old, v, bf16_of, bits_bf16);
    case ATOMIC_MSKOR: return (old & ~c) | v;
    case ATOMIC_WRAP: return old >= v ? old - v : old + c;
    case ATOMIC_SUB_CLAMP: return old < v ? 0 : old - v;
    case ATOMIC_COND_SUB: return old < v ? old : old - v;
    case ATOMIC_FMIN_NUM: return bits_f32(min_number(f32_of(v), f32_of(old)));
    case ATOMIC_FMAX_NUM: return bits_f32(max_number(f32_of(v), f32_of(old)));
    case ATOMIC_CONDXCHG: break;
    }
    return old;
}

/* The top bit says whether to write the others. */
static u32 exchanged(u32 old, u32 v) { return v >> 31 ? v & 0x7fffffff : old; }

static u64 apply64(AtomicOp op, u64 old, u64 v, u64 c)
{
    switch (op) {
    case ATOMIC_ADD: return old + v;
    case ATOMIC_SUB: return old - v;
    case ATOMIC_RSUB: return v - old;
    case ATOMIC_SMIN: return (i64)old < (i64)v ? old : v;
    case ATOMIC_UMIN: return old < v ? old : v;
    case ATOMIC_SMAX: return (i64)old > (i64)v ? old : v;
    case ATOMIC_UMAX: return old > v ? old : v;
    case ATOMIC_AND: return old & v;
    case ATOMIC_OR: return old | v;
    case ATOMIC_XOR: return old ^ v;
    case ATOMIC_INC: return old >= v ? 0 : old + 1;
    case ATOMIC_DEC: return old == 0 || old > v ? v : old - 1;
    case ATOMIC_SWAP: return v;
    case ATOMIC_CMPSWAP: return old == c ? v : old;
    case ATOMIC_FADD: return bits_f64(f64_of(old) + f64_of(v));
    case ATOMIC_FMIN: return f64_of(v) < f64_of(old) ? v : old;
    case ATOMIC_FMAX: return f64_of(v) > f64_of(old) ? v : old;
    case ATOMIC_FCMPSWAP: return f64_of(old) == f64_of(c) ? v : old;
    case ATOMIC_MSKOR: return (old & ~c) | v;
    case ATOMIC_FMIN_NUM: return bits_f64(min_number64(f64_of(v), f64_of(old)));
    case ATOMIC_FMAX_NUM: return bits_f64(max_number64(f64_of(v), f64_of(old)));
    case ATOMIC_CONDXCHG: return pair(exchanged((u32)old, (u32)v), exchanged((u32)(old >> 32), (u32)(v >> 32)));
    default: return old;
    }
}

/* What the host has as one instruction, it does at once; the rest by comparing and swapping. */
#define ATOMIC_ON(name, word, apply) \
    static word name(word *at, AtomicOp op, word v, word c) \
    { \
        switch (op) { \
        case ATOMIC_ADD: return __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST); \
        case ATOMIC_SUB: return __atomic_fetch_sub(at, v, __ATOMIC_SEQ_CST); \
        case ATOMIC_SWAP: return __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST); \
        default: break; \
        } \
        word old = __atomic_load_n(at, __ATOMIC_SEQ_CST); \
        while (!__atomic_compare_exchange_n(at, &old, apply(op, old, v, c), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
            ; \
        return old; \
    }
ATOMIC_ON(atomic32, u32, apply32)
ATOMIC_ON(atomic64, u64, apply64)

u64 atomics_scalar(AtomicOp op, void *at, u32 bytes, u64 value, u64 compare)
{
    return bytes == 8 ? atomic64(at, op, value, compare) : atomic32(at, op, (u32)value, (u32)compare);
}

/* All waves of a workgroup run on one thread, so that nothing else reaches its LDS. */
static u32 plain32(u32 *at, AtomicOp op, u32 v, u32 c)
{
    u32 old = *at;
    *at = apply32(op, old, v, c);
    return old;
}
static u64 plain64(u64 *at, AtomicOp op, u64 v, u64 c)
{
    u64 old = *at;
    *at = apply64(op, old, v, c);
    return old;
}

static const u32 no_operand[2 * LANES];

/* The registers of an operand, low words and high words. */
static const u32 *operand(Wave *w, u16 at) { return at == 0xffff ? no_operand : vector(w, at); }

static bool in_lds(const Wave *w, const u8 *at) { return (u64)at - (u64)w->lds < w->lds_bytes; }

/* All lanes at multiples of their size. Inactive lanes may make this false. */
static bool all_aligned(const Access *a, u32 bytes)
{
    u32 bits = (u32)(u64)a->base;
    for (int l = 0; a->base && l < LANES; l++)
        bits |= a->offset[l];
    return a->base && !(bits & (bytes - 1));
}

/* Active lanes lie at multiples of their size, or the first that does not is a fault. */
static bool aligned(Wave *w, const Inst *i, const Access *a, u32 bytes)
{
    if (likely(all_aligned(a, bytes)))
        return true;
    for (u64 left = a->active; left; left &= left - 1) {
        u32 lane = (u32)__builtin_ctzll(left);
        const u8 *at = lane_at(a, (int)lane);
        if (likely(!((u64)at & (bytes - 1))))
            continue;
        bool lds = in_lds(w, at);
        fault_record(w, i, OUTCOME_MISALIGNED, lds ? SPACE_LDS : SPACE_GLOBAL, lane,
                   lds ? (u64)(at - w->lds) : (u64)at, bytes, true);
        return false;
    }
    return true;
}

static void run32(Wave *w, const Access *a, AtomicOp op, const u32 *v, const u32 *c, u32 *old)
{
    for (u64 left = a->active; left; left &= left - 1) {
        int l = __builtin_ctzll(left);
        u8 *at = lane_at(a, l);
        old[l] = in_lds(w, at) ? plain32((u32 *)at, op, v[l], c[l]) : atomic32((u32 *)at, op, v[l], c[l]);
    }
}
static void run64(Wave *w, const Access *a, AtomicOp op, const u32 *v, const u32 *c, u32 *old)
{
    for (u64 left = a->active; left; left &= left - 1) {
        int l = __builtin_ctzll(left);
        u8 *at = lane_at(a, l);
        u64 x = pair(v[l], v[LANES + l]), y = pair(c[l], c[LANES + l]);
        u64 was = in_lds(w, at) ? plain64((u64 *)at, op, x, y) : atomic64((u64 *)at, op, x, y);
        old[l] = (u32)was;
        old[LANES + l] = (u32)(was >> 32);
    }
}

/* Counters in LDS, which histograms and scans live on. */
static bool add_in_lds(Wave *w, const Access *a, AtomicOp op, const u32 *v, u32 *old)
{
    if (op != ATOMIC_ADD || a->active != ~0ull || !a->base || !in_lds(w, a->base))
        return false;
    for (int l = 0; l < LANES; l++) {
        u32 *at = (u32 *)(a->base + a->offset[l]);
        old[l] = *at;
        *at = old[l] + v[l];
    }
    return true;
}

void atomics_run(Wave *w, const Inst *i, const Access *a, AtomicOp op, u32 bytes, u16 data, u16 compare, u16 dst)
{
    u32 old[2 * LANES]; /* kept back: the result may lie in the registers of the operands */
    const u32 *v = operand(w, data), *c = operand(w, compare);
    if (!aligned(w, i, a, bytes))
        return;
    if (unlikely(a->outside))
        memset(old, 0, sizeof old);
    if (bytes == 8)
        run64(w, a, op, v, c, old);
    else if (!add_in_lds(w, a, op, v, old))
        run32(w, a, op, v, c, old);
    for (u32 k = 0; dst != 0xffff && k < bytes / 4; k++)
        put_masked(vector(w, dst + k), old + k * LANES, a->active | a->outside);
}
