/* Reads the text of instructions, in which each operand names all of its registers. */
#include "timing/code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char *t, const char *part) { return !strncmp(t, part, strlen(part)); }
static bool has(const char *t, const char *part) { return strstr(t, part) != NULL; }

static bool starts_one_of(const char *t, const char *const *parts)
{
    while (*parts && !starts(t, *parts))
        parts++;
    return *parts != NULL;
}

/* ---- operands ---- */

static Range special(const char *t)
{
    static const struct { const char *name; u16 reg; } names[] = {{"vcc", REG_VCC}, {"exec", REG_EXEC}, {"m0", REG_M0}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (starts(t, names[k].name))
            return (Range){names[k].reg, 1};
    return (Range){0, 0};
}

/* The registers that the operand at `t` names. */
static Range range_of(const char *t)
{
    while (*t == ' ' || *t == '|' || *t == '-' || *t == '(')
        t++;
    if (starts(t, "abs(") || starts(t, "neg(") || starts(t, "sext("))
        return range_of(strchr(t, '(') + 1);
    bool file = (*t == 'v' || *t == 'a' || *t == 's') && (t[1] == '[' || isdigit((u8)t[1]));
    if (!file)
        return special(t);
    char *end;
    u32 base = *t == 'v' ? REG_V : *t == 'a' ? REG_A : REG_S, room = *t == 's' ? 128 : 256;
    u32 first = (u32)strtoul(t + (t[1] == '[' ? 2 : 1), &end, 10), last = *end == ':' ? (u32)strtoul(end + 1, NULL, 10) : first;
    if (last >= room || last < first)
        return (Range){0, 0};
    return (Range){(u16)(base + first), (u16)(last - first + 1)};
}

static const char *next_operand(const char *t)
{
    for (int depth = 0; *t && (*t != ',' || depth); t++) {
        if (t[0] == ':' && t[1] == ':')
            return t;
        depth += (*t == '[') - (*t == ']');
    }
    return t;
}

static void reads(Op *o, Range r)
{
    if (r.count && o->sources < MOST_SOURCES)
        o->source[o->sources++] = r;
}

static void writes(Op *o, Range r)
{
    if (r.count && o->results < MOST_RESULTS)
        o->to[o->results++] = r;
}

static bool has_no_result(const Inst *i, const char *t)
{
    static const char *const names[] = {"s_cmp", "s_bitcmp", "ds_write", "ds_store", "s_cbranch", "s_branch", "s_wait",
                                        "s_nop", "s_set", "s_barrier", NULL};
    bool atomic = starts(t, "ds_") ? i->row->detail[2] == ACCESS_ATOMIC && !has(t, "_rtn") : has(t, "_atomic") && !i->sc0;
    bool moves = i->lds && has(t, "_load"); /* to LDS */
    return starts_one_of(t, names) || has(t, "_store") || atomic || moves;
}

static bool adds_to_result(const char *t)
{
    return has(t, "fmac") || has(t, "v_mac_") || has(t, "v_dot2c") || has(t, "v_dot4c") || has(t, "v_dot8c") || has(t, "smfmac") ||
           has(t, "swmmac");
}

static void implied(Op *o, const char *t)
{
    static const char *const set_scc[] = {"s_cmp", "s_add", "s_sub", "s_and", "s_or", "s_xor", "s_lsh", "s_ash", "s_bfe",
                                          "s_bitcmp", "s_min", "s_max", "s_not", NULL};
    static const char *const read_scc[] = {"s_cselect", "s_addc", "s_subb", "s_cbranch_scc", "s_cmov", NULL};
    if (starts_one_of(t, set_scc))
        writes(o, (Range){REG_SCC, 1});
    if (starts_one_of(t, read_scc))
        reads(o, (Range){REG_SCC, 1});
    if (starts(t, "s_cbranch_vcc") || (starts(t, "v_cndmask") && has(t, "_e32")))
        reads(o, (Range){REG_VCC, 1});
    if (starts(t, "v_cmp") && has(t, "_e32"))
        writes(o, (Range){REG_VCC, 1});
    if (has(t, "_saveexec"))
        writes(o, (Range){REG_EXEC, 1});
}

static void operands(Op *o, const Inst *i, const char *t)
{
    const char *at = strchr(t, ' ');
    for (u32 n = 0; at && *at && *at != ':'; n++) {
        Range r = range_of(*at == ',' ? at + 1 : at);
        if (n == 0 && !has_no_result(i, t))
            writes(o, r);
        if (n > 0 || has_no_result(i, t) || adds_to_result(t))
            reads(o, r);
        at = next_operand(*at == ',' ? at + 1 : at);
    }
    implied(o, t);
    if (at && *at == ':') /* the second half of a dual instruction */
        operands(o, i, at + 2 + strspn(at + 2, " "));
}

/* ---- pipes ---- */

static Pipe scalar_pipe(const char *t)
{
    static const char *const branches[] = {"s_cbranch", "s_branch", "s_setpc", "s_swappc", "s_call", NULL};
    static const char *const nothing[] = {"s_nop", "s_delay_alu", "s_clause", "s_setprio", "s_inst_prefetch", "s_set_inst", "s_sendmsg",
                                          "s_sleep", "s_waitcnt_depctr", "s_wait_alu", "s_dcache", "s_icache", "s_ttrace", NULL};
    if (starts(t, "s_endpgm"))
        return PIPE_END;
    if (starts_one_of(t, nothing))
        return PIPE_NONE;
    if (starts(t, "s_barrier_signal"))
        return PIPE_SCALAR;
    if (starts(t, "s_barrier"))
        return PIPE_BARRIER;
    if (starts(t, "s_wait"))
        return PIPE_WAIT;
    if (starts_one_of(t, branches))
        return PIPE_BRANCH;
    static const char *const memory[] = {"s_load", "s_store", "s_atomic", "s_buffer", NULL};
    return starts_one_of(t, memory) ? PIPE_SCALAR_LOAD : PIPE_SCALAR;
}

static Pipe pipe_of(const Inst *i, const char *t)
{
    static const char *const slow[] = {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_s_", NULL};
    static const char *const matrix[] = {"v_mfma", "v_smfmac", "v_wmma", "v_swmmac", NULL};
    static const char *const caches[] = {"buffer_gl", "buffer_inv", "buffer_wb", "global_inv", "global_wb", "ds_nop", NULL};
    if (starts(t, "s_"))
        return scalar_pipe(t);
    if (starts(t, "ds_"))
        return PIPE_LDS;
    if (starts(t, "v_"))
        return starts_one_of(t, matrix) ? PIPE_MATRIX : starts_one_of(t, slow) ? PIPE_TRANSCENDENTAL : PIPE_VECTOR;
    if (starts_one_of(t, caches))
        return PIPE_NONE;
    return has(t, "_load") || (has(t, "_atomic") && i->sc0) ? PIPE_LOAD : PIPE_STORE;
}

/* ---- clocks ---- */

static MatrixType matrix_type(const char *m)
{
    return has(m, "f8f6f4") ? MATRIX_F6F4 : has(m, "i8") || has(m, "iu8") || has(m, "iu4") ? MATRIX_I8
         : has(m, "xf32") ? MATRIX_XF32 : has(m, "bf16") ? MATRIX_BF16 : has(m, "fp8") || has(m, "bf8") ? MATRIX_F8
         : has(m, "f64") ? MATRIX_F64 : has(m, "f16") ? MATRIX_F16 : MATRIX_F32;
}

/* Clocks that a matrix instruction keeps its SIMD's pipe busy. CDNA's shapes of several small blocks, and from CDNA3 on all
 * of depth 4, run at half of the rate; none takes fewer than four passes but those of 4x4. */
static u16 matrix_clocks(const Row *row, const char *t, const Rates *r)
{
    MatrixType type = matrix_type(row->mnemonic);
    u32 rate = r->matrix[type], flops = 2u * row->bytes * row->bytes * row->detail[1] * row->detail[2];
    if (!rate)
        return 64;
    if (r->rdna)
        return (u16)((has(t, "swmmac") ? flops / 2 : flops) / (has(t, "iu4") ? 2 * rate : rate));
    if (row->bytes == 4)
        return type == MATRIX_F64 ? 16 : 8;
    bool blocks = row->detail[2] > 1 && type != MATRIX_F32 && type != MATRIX_F64 && r->matrix[MATRIX_F8];
    u32 clocks = flops * (blocks ? 2 : 1) / (has(t, "smfmac") ? 2 * rate : rate), least = row->bytes == 32 ? 32 : 16;
    return (u16)(clocks < least ? least : clocks);
}

/* What the product would take in the shape of its type that reaches the peak. */
static u16 full_matrix_clocks(const Row *row, const char *t, const Rates *r)
{
    u32 rate = r->matrix[matrix_type(row->mnemonic)], flops = 2u * row->bytes * row->bytes * row->detail[1] * row->detail[2];
    return rate ? (u16)(flops / (has(t, "smfmac") || has(t, "iu4") ? 2 * rate : rate)) : 64;
}

static void matrix(Op *o, const Row *row, const char *t, const Rates *r)
{
    MatrixType type = matrix_type(row->mnemonic);
    bool alone = type == MATRIX_F32 || type == MATRIX_F64; /* vector instructions do not run at the same time */
    u32 wider = 0;
    for (u32 k = 0; k < 2 && k < o->sources; k++)
        wider = o->source[k].count > wider ? o->source[k].count : wider;
    o->clocks = matrix_clocks(row, t, r);
    u16 full = full_matrix_clocks(row, t, r);
    o->full = r->rdna || full > o->clocks ? o->clocks : full;
    o->result = (u16)(o->clocks + (r->rdna ? 8 : 12));
    o->hold = r->rdna ? o->clocks : alone ? (u16)(o->clocks + 8) : (u16)(4 * (1 + wider / 4));
}

/* RDNA3 and RDNA4 read two different registers of one of four banks a clock. */
static u32 bank_clocks(const Op *o)
{
    u16 seen[MOST_SOURCES];
    u32 of_bank[4] = {0}, count = 0, most = 0;
    for (u32 k = 0; k < o->sources; k++) {
        u16 reg = o->source[k].first;
        bool known = reg >= REG_A;
        for (u32 n = 0; n < count; n++)
            known |= seen[n] == reg;
        if (known)
            continue;
        seen[count++] = reg;
        of_bank[reg % 4]++;
        most = of_bank[reg % 4] > most ? of_bank[reg % 4] : most;
    }
    return most > 2 ? most - 2 : 0;
}

static void vector(Op *o, const char *t, const Rates *r, bool wave32)
{
    static const char *const multiply[] = {"v_mul_lo_u32", "v_mul_lo_i32", "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64_u32", "v_mad_i64_i32",
                                           "v_mad_co_u64_u32", "v_mad_co_i64_i32", NULL};
    o->clocks = r->vector;
    o->result = r->dependent;
    if (o->pipe == PIPE_TRANSCENDENTAL) {
        o->clocks = r->transcendental;
        o->result = r->transcendental_result;
    } else if (starts_one_of(t, multiply)) {
        o->clocks = r->multiply;
        o->result = r->multiply_result;
    } else if (has(t, "_f64")) {
        o->clocks = starts(t, "v_cvt") ? r->transcendental : r->doubles;
        o->result = starts(t, "v_cvt") ? r->transcendental_result : r->doubles_result;
    } else if (r->rdna && (has(t, "_b64") || has(t, "_u64"))) {
        o->clocks = 2;
        o->result = 6;
    }
    o->packed = starts(t, "v_pk_") && has(t, "f32");
    if (r->rdna) {
        o->clocks = (u16)(o->clocks * (wave32 ? 1 : 2) + bank_clocks(o));
        o->result = (u16)(o->result + (wave32 ? 0 : o->clocks / 2));
    }
}

/* ---- waits ---- */

static i32 count_after(const char *t, const char *name)
{
    const char *at = strstr(t, name);
    return at ? (i32)atoi(at + strlen(name)) : -1;
}

static void wait(Op *o, const char *t)
{
    i32 all = strrchr(t, ' ') ? (i32)strtol(strrchr(t, ' ') + 1, NULL, 0) : -1;
    if (starts(t, "s_waitcnt_vscnt")) {
        o->stores = all;
    } else if (starts(t, "s_waitcnt")) {
        o->vm = count_after(t, "vmcnt(");
        o->lgkm = count_after(t, "lgkmcnt(");
    } else if (has(t, "loadcnt_dscnt")) { /* loads in bits 8 to 13, LDS in 0 to 5 */
        o->vm = all >> 8 & 63;
        o->lgkm = all & 63;
    } else if (has(t, "storecnt_dscnt")) {
        o->stores = all >> 8 & 63;
        o->lgkm = all & 63;
    } else if (has(t, "storecnt")) {
        o->stores = all;
    } else if (has(t, "dscnt") || has(t, "kmcnt")) {
        o->lgkm = all;
    } else if (has(t, "loadcnt")) {
        o->vm = all;
    }
}

static u16 access_bytes(const char *t)
{
    static const struct { const char *part; u16 bytes; } widths[] = {
        {"b128", 16}, {"dwordx4", 16}, {"b96", 12}, {"dwordx3", 12}, {"b64", 8}, {"dwordx2", 8}, {"x2", 8},
    };
    u16 bytes = 4;
    for (size_t k = sizeof widths / sizeof *widths; k-- > 0;)
        if (has(t, widths[k].part))
            bytes = widths[k].bytes;
    return starts(t, "ds_") && (has(t, "2_b") || has(t, "2st64")) ? (u16)(2 * bytes) : bytes;
}

Op code_read(const Program *p, u32 inst, const Rates *r)
{
    const Inst *i = &p->code[inst];
    const char *t = p->text + i->text;
    Op o = {.pipe = (u8)pipe_of(i, t), .vm = -1, .lgkm = -1, .stores = -1, .clocks = r->slot, .result = r->scalar_result};
    operands(&o, i, t);
    switch (o.pipe) {
    case PIPE_VECTOR: case PIPE_TRANSCENDENTAL: vector(&o, t, r, p->wave32); break;
    case PIPE_MATRIX: matrix(&o, i->row, t, r); break;
    case PIPE_WAIT: wait(&o, t); break;
    case PIPE_NONE: o.clocks = starts(t, "s_nop") ? (u16)(r->slot * (1 + (i->raw & 15))) : 0; break;
    case PIPE_LDS:
        o.bytes = access_bytes(t);
        o.writes_lds = starts(t, "ds_write") || starts(t, "ds_store") || i->row->detail[2] == ACCESS_ATOMIC;
        break;
    case PIPE_LOAD: case PIPE_STORE:
        o.bytes = access_bytes(t);
        o.to_lds = i->lds;
        break;
    default: break;
    }
    return o;
}
