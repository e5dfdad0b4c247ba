/*
 * Scalar stores and atomics, which CDNA has and RDNA has not.  CDNA3 ISA, "Scalar Memory Operations".
 *
 * They act once for the wave, whatever EXEC is, on the address that a scalar load would have. A store is seen at once:
 * that the scalar cache holds it back until s_dcache_wb is not modelled. Scratch through scalars (s_scratch_store_dword)
 * is not emulated: its base is the wave's own scratch, which has no address here.
 */
#include "checks/observers.h"
#include "isa/smem.h"
#include "machine/access.h"
#include "machine/atomics.h"
#include "machine/fault.h"
#include "memory/arena.h"

static bool writable(Wave *w, const Inst *i, u64 address, u32 bytes)
{
    Span span;
    if (!access_reachable(w, address, bytes, &span)) {
        if (access_scalar_overrun(w, i, address, bytes, true))
            return true;
        fault_record(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_SCALAR, 0, address, bytes, true);
        return false;
    }
    if (!span.writable)
        fault_record(w, i, OUTCOME_READ_ONLY, SPACE_SCALAR, 0, address, bytes, true);
    return span.writable;
}

/* The registers of the data, or NULL where the instruction names others than scalar ones. */
static u32 *data_of(Wave *w, const Inst *i, u32 words)
{
    if (i->source[2] + words <= SCALAR_FILE)
        return &w->s[i->source[2]];
    fault_not_emulated(w, i);
    return NULL;
}

static void store(Wave *w, const Inst *i, u64 address, const u32 *data, u32 bytes)
{
    if (!writable(w, i, address, bytes))
        return;
    if (unlikely(w->worker->observers))
        observe_scalar_store(w, i, address, bytes);
    memcpy((void *)address, data, bytes);
}

static void s_store(Wave *w, const Inst *i)
{
    u64 address = scalar64(w, i, 0) + smem_offset(w, i);
    const u32 *data = data_of(w, i, i->row->bytes / 4);
    if (unlikely(address & 3 && w->worker->observers))
        observe_misaligned(w, i, address, i->row->bytes);
    if (data)
        store(w, i, address & ~3ull, data, i->row->bytes);
}

/* Words behind the buffer's end are dropped. */
static void s_buffer_store(Wave *w, const Inst *i)
{
    u64 base, size, offset = smem_offset(w, i) & ~3ull;
    u32 words = i->row->bytes / 4, within = 0;
    const u32 *data = data_of(w, i, words);
    if (!data || !smem_buffer(w, i, &base, &size))
        return;
    while (within < words && offset + 4 * within + 4 <= size)
        within++;
    if (within)
        store(w, i, base + offset, data, 4 * within);
}

/* data := memory, where the instruction asks for the old value; memory := op(memory, data).  Compare and swap has the new
 * value first, and behind it what memory is compared with. */
static void modify(Wave *w, const Inst *i, u64 address)
{
    AtomicOp op = (AtomicOp)i->row->detail[1];
    u32 bytes = i->row->bytes, words = bytes / 4;
    u32 *data = data_of(w, i, op == ATOMIC_CMPSWAP ? 2 * words : words);
    if (!data)
        return;
    if (address & (bytes - 1)) {
        fault_record(w, i, OUTCOME_MISALIGNED, SPACE_SCALAR, 0, address, bytes, true);
        return;
    }
    if (!writable(w, i, address, bytes))
        return;
    if (unlikely(w->worker->observers))
        observe_scalar_store(w, i, address, bytes);
    u64 value = 0, compare = 0;
    memcpy(&value, data, bytes);
    if (op == ATOMIC_CMPSWAP)
        memcpy(&compare, data + words, bytes);
    u64 old = atomics_scalar(op, (void *)address, bytes, value, compare);
    if (i->sc0)
        memcpy(data, &old, bytes);
}

static void s_atomic(Wave *w, const Inst *i) { modify(w, i, (scalar64(w, i, 0) + smem_offset(w, i)) & ~3ull); }

static void s_buffer_atomic(Wave *w, const Inst *i)
{
    u64 base, size, offset = smem_offset(w, i) & ~3ull;
    if (!smem_buffer(w, i, &base, &size))
        return;
    if (offset + i->row->bytes <= size)
        modify(w, i, base + offset);
    else if (i->sc0 && data_of(w, i, i->row->bytes / 4))
        memset(&w->s[i->source[2]], 0, i->row->bytes);
}

#define STORE(name, body, size) \
    {.mnemonic = name, .run = body, .layout = "201|20", .family = FAMILY_SMEM, .source = {TYPE_U64, TYPE_I64, TYPE_WIDE}, \
     .bytes = size, .modifiers = MOD_OFFSET | MOD_CACHE, .detail = {0, 0, ACCESS_STORE}}
#define ATOMIC(name, body, size, op) \
    {.mnemonic = name, .run = body, .layout = "201|20", .family = FAMILY_SMEM, .source = {TYPE_U64, TYPE_I64, TYPE_WIDE}, \
     .bytes = size, .modifiers = MOD_OFFSET | MOD_CACHE, .detail = {0, op, ACCESS_ATOMIC}}
#define ATOMICS(name, op) \
    ATOMIC("s_atomic_" name, s_atomic, 4, op), ATOMIC("s_atomic_" name "_x2", s_atomic, 8, op), \
    ATOMIC("s_buffer_atomic_" name, s_buffer_atomic, 4, op), ATOMIC("s_buffer_atomic_" name "_x2", s_buffer_atomic, 8, op)

static const Row rows[] = {
    STORE("s_store_dword", s_store, 4), STORE("s_store_dwordx2", s_store, 8), STORE("s_store_dwordx4", s_store, 16),
    STORE("s_buffer_store_dword", s_buffer_store, 4), STORE("s_buffer_store_dwordx2", s_buffer_store, 8),
    STORE("s_buffer_store_dwordx4", s_buffer_store, 16),
    ATOMICS("swap", ATOMIC_SWAP), ATOMICS("cmpswap", ATOMIC_CMPSWAP), ATOMICS("add", ATOMIC_ADD), ATOMICS("sub", ATOMIC_SUB),
    ATOMICS("smin", ATOMIC_SMIN), ATOMICS("umin", ATOMIC_UMIN), ATOMICS("smax", ATOMIC_SMAX), ATOMICS("umax", ATOMIC_UMAX),
    ATOMICS("and", ATOMIC_AND), ATOMICS("or", ATOMIC_OR), ATOMICS("xor", ATOMIC_XOR), ATOMICS("inc", ATOMIC_INC),
    ATOMICS("dec", ATOMIC_DEC),
};

const RowTable isa_scalar_stores = {rows, sizeof rows / sizeof *rows};
