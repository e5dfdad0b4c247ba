/* Scalar memory: loads through the constant cache, and the clocks. */
#include "isa/smem.h"

#include "checks/observers.h"
#include "isa/control.h"
#include "machine/access.h"
#include "machine/fault.h"
#include "memory/arena.h"

/* address = base + offset register or immediate; the two low bits are ignored.  CDNA3 ISA, "Scalar memory". */
u64 smem_offset(const Wave *w, const Inst *i)
{
    u64 offset = (u64)(i64)i->offset;
    if (i->source[1] == SOURCE_CONSTANT)
        return offset + i->constant[1];
    return i->source[1] == SOURCE_OFF ? offset : offset + scalar32(w, i, 1);
}

static void load_words(Wave *w, const Inst *i, u64 address, u32 words)
{
    Span span;
    if (i->sdst + words > SGPR_EXEC) {
        fault_not_emulated(w, i);
        return;
    }
    if (!access_reachable(w, address, 4 * words, &span) && !access_scalar_overrun(w, i, address, 4 * words, false)) {
        fault_record(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_SCALAR, 0, address, 4 * words, false);
        return;
    }
    if (unlikely(w->worker->observers))
        observe_scalar(w, i, address, 4 * words);
    memcpy(&w->s[i->sdst], (const void *)address, 4 * words);
}

static void s_load(Wave *w, const Inst *i)
{
    u64 address = scalar64(w, i, 0) + smem_offset(w, i);
    if (unlikely(address & 3 && w->worker->observers))
        observe_misaligned(w, i, address, i->row->bytes);
    load_words(w, i, address & ~3ull, i->row->bytes / 4);
}

/* RDNA4: one or two bytes, extended to a register. Whether half words at odd addresses fault is not documented. */
static void load_bytes(Wave *w, const Inst *i, u64 address)
{
    u32 bytes = i->row->bytes, x = 0;
    Span span;
    if (i->sdst >= SGPR_EXEC || address % bytes) {
        fault_not_emulated(w, i);
        return;
    }
    if (!memory_span(w->worker->memory, address, bytes, &span) && !access_scalar_overrun(w, i, address, bytes, false)) {
        fault_record(w, i, OUTCOME_OUT_OF_BOUNDS, SPACE_SCALAR, 0, address, bytes, false);
        return;
    }
    if (unlikely(w->worker->observers))
        observe_scalar(w, i, address, bytes);
    memcpy(&x, (const void *)address, bytes);
    if (i->row->detail[1])
        x = bytes == 1 ? (u32)(i32)(int8_t)x : (u32)(i32)(int16_t)x;
    w->s[i->sdst] = x;
}
static void s_load_part(Wave *w, const Inst *i) { load_bytes(w, i, scalar64(w, i, 0) + smem_offset(w, i)); }

bool smem_buffer(Wave *w, const Inst *i, u64 *base, u64 *size)
{
    u32 at = i->source[0];
    if (at + 3 >= SCALAR_FILE) {
        fault_not_emulated(w, i);
        return false;
    }
    u32 stride = w->s[at + 1] >> 16 & 0x3fff, records = w->s[at + 2];
    *base = scalar_pair(w, at) & 0xffffffffffffull;
    *size = stride ? (u64)stride * records : records;
    return true;
}

/* What lies behind the buffer's end reads as zero. */
static void s_buffer_load(Wave *w, const Inst *i)
{
    u32 words = i->row->bytes / 4;
    u64 base, size, offset = smem_offset(w, i) & ~3ull;
    if (!smem_buffer(w, i, &base, &size))
        return;
    for (u32 k = 0; k < words && w->stop != STOP_FAULT; k++) {
        Inst one = *i;
        one.sdst = (u16)(i->sdst + k);
        u64 address = base + offset + 4 * k;
        if (one.sdst >= SGPR_EXEC)
            fault_not_emulated(w, i);
        else if (offset + 4 * k + 4 > size)
            w->s[one.sdst] = 0;
        else
            load_words(w, &one, address, 1);
    }
}

/* RDNA4: one or two bytes.  RDNA4 ISA, "Loads using Buffer Resource". */
static void s_buffer_load_part(Wave *w, const Inst *i)
{
    u32 bytes = i->row->bytes;
    u64 base, size, offset = smem_offset(w, i) & ~(u64)(bytes - 1);
    if (!smem_buffer(w, i, &base, &size))
        return;
    if (offset + bytes > size)
        w->s[i->sdst] = 0;
    else
        load_bytes(w, i, (base & ~(u64)(bytes - 1)) + offset);
}

static void s_memtime(Wave *w, const Inst *i) { put_scalar_pair(w, i->sdst, shader_clock(w->worker)); }
static void s_memrealtime(Wave *w, const Inst *i) { put_scalar_pair(w, i->sdst, real_clock(w->worker)); }

#define LOAD(name, body, size) \
    {.mnemonic = name, .run = body, .layout = "s01|s0", .family = FAMILY_SMEM, .result = TYPE_WIDE, \
     .source = {TYPE_U64, TYPE_I64}, .bytes = size, .modifiers = MOD_OFFSET | MOD_CACHE}
#define LOAD_PART(name, body, size, sign) \
    {.mnemonic = name, .run = body, .layout = "s01|s0", .family = FAMILY_SMEM, .result = TYPE_U32, \
     .source = {TYPE_U64, TYPE_I64}, .bytes = size, .modifiers = MOD_OFFSET | MOD_CACHE, .detail = {0, sign}}
#define SIMPLE(name, in, body) {.mnemonic = name, .run = body, .layout = in, .family = FAMILY_SMEM}
#define CLOCK(name, body) {.mnemonic = name, .run = body, .layout = "s", .family = FAMILY_SMEM, .alone = true}

static const Row rows[] = {
    LOAD("s_load_dword", s_load, 4), LOAD("s_load_dwordx2", s_load, 8), LOAD("s_load_dwordx4", s_load, 16),
    LOAD("s_load_b96", s_load, 12), LOAD("s_load_dwordx8", s_load, 32), LOAD("s_load_dwordx16", s_load, 64),
    LOAD("s_buffer_load_dword", s_buffer_load, 4), LOAD("s_buffer_load_dwordx2", s_buffer_load, 8),
    LOAD("s_buffer_load_dwordx4", s_buffer_load, 16), LOAD("s_buffer_load_b96", s_buffer_load, 12), LOAD("s_buffer_load_dwordx8", s_buffer_load, 32),
    LOAD("s_buffer_load_dwordx16", s_buffer_load, 64),
    LOAD_PART("s_load_u8", s_load_part, 1, false), LOAD_PART("s_load_i8", s_load_part, 1, true),
    LOAD_PART("s_load_u16", s_load_part, 2, false), LOAD_PART("s_load_i16", s_load_part, 2, true),
    LOAD_PART("s_buffer_load_u8", s_buffer_load_part, 1, false), LOAD_PART("s_buffer_load_i8", s_buffer_load_part, 1, true),
    LOAD_PART("s_buffer_load_u16", s_buffer_load_part, 2, false),
    LOAD_PART("s_buffer_load_i16", s_buffer_load_part, 2, true),
    SIMPLE("s_prefetch_inst", "*", control_no_effect), SIMPLE("s_prefetch_data", "*", control_no_effect),
    SIMPLE("s_prefetch_inst_pc_rel", "*", control_no_effect), SIMPLE("s_prefetch_data_pc_rel", "*", control_no_effect),
    SIMPLE("s_buffer_prefetch_data", "*", control_no_effect),
    CLOCK("s_memtime", s_memtime), CLOCK("s_memrealtime", s_memrealtime),
    SIMPLE("s_dcache_inv", "*", control_no_effect), SIMPLE("s_dcache_wb", "*", control_no_effect),
    SIMPLE("s_atc_probe", "*", control_no_effect), SIMPLE("s_atc_probe_buffer", "*", control_no_effect),
    SIMPLE("s_dcache_inv_vol", "*", control_no_effect), SIMPLE("s_dcache_wb_vol", "*", control_no_effect),
};

const RowTable isa_smem = {rows, sizeof rows / sizeof *rows};
