/* Read-modify-write, lane after lane. Other workgroups run on other threads, so in memory each one is a host atomic. */
#include "access.h"
#include "isa/lane_math.h"

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

static u32 atomic32(u32 *at, AtomicOp op, u32 v, u32 c)
{
    u32 old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(at, &old, apply32(op, old, v, c), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return old;
}
static u64 atomic64(u64 *at, AtomicOp op, u64 v, u64 c)
{
    u64 old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(at, &old, apply64(op, old, v, c), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return old;
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

static u64 operand(Wave *w, u16 at, u32 bytes, int lane)
{
    if (at == 0xffff)
        return 0;
    return bytes == 4 ? vector(w, at)[lane] : pair(vector(w, at)[lane], vector(w, at + 1)[lane]);
}

void run_atomic(Wave *w, const Inst *i, const Access *a, AtomicOp op, u32 bytes, u16 data, u16 compare, u16 dst)
{
    u64 old[LANES] = {0}; /* kept back: the result may lie in the registers of the operands */
    for (int l = 0; l < LANES; l++) {
        if (!(a->active >> l & 1))
            continue;
        u64 v = operand(w, data, bytes, l), c = operand(w, compare, bytes, l);
        u8 *at = lane_at(a, l);
        if ((u64)at % bytes) {
            bool lds = (u64)(at - w->lds) < w->lds_bytes;
            wave_fault(w, i, OUTCOME_MISALIGNED, lds ? SPACE_LDS : SPACE_GLOBAL, (u32)l, lds ? (u64)(at - w->lds) : (u64)at,
                       bytes, true);
            return;
        }
        bool alone = (u64)at - (u64)w->lds < w->lds_bytes;
        if (bytes == 4)
            old[l] = alone ? plain32((u32 *)at, op, (u32)v, (u32)c) : atomic32((u32 *)at, op, (u32)v, (u32)c);
        else
            old[l] = alone ? plain64((u64 *)at, op, v, c) : atomic64((u64 *)at, op, v, c);
    }
    for (int l = 0; dst != 0xffff && l < LANES; l++)
        if ((a->active | a->outside) >> l & 1) {
            vector(w, dst)[l] = (u32)old[l];
            if (bytes == 8)
                vector(w, dst + 1)[l] = (u32)(old[l] >> 32);
        }
}
