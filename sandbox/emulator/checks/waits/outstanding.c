/*
 * Source of the counters and their order: CDNA3 ISA, 4.4 "Manually Inserted Wait States" and S_WAITCNT; RDNA3 and RDNA4 ISA,
 * "Data dependency resolution"; LLVM, SIInsertWaitcnts. Loads of one kind return in order, and so do accesses of LDS.
 * Scalar loads and messages return in any order, so that only a wait for all of them helps. Flat accesses count twice.
 * A wait for more than is necessary is never reported: an operation counts as returned as soon as the wait implies it.
 */
#include "checks/waits/outstanding.h"

#include <stdio.h>

enum { MOST_LATER = 63 }; /* the counters' largest value: a wave that reached it has waited */

static bool named(const Inst *i, const char *with) { return !strncmp(i->row->mnemonic, with, strlen(with)); }

/* ---- waits ---- */

/* What each counter may still have outstanding after a wait; 255: anything. */
typedef struct { u8 most[WAIT_COUNTERS]; } Allowed;

static void allow(Allowed *a, WaitCounter counter, u32 most)
{
    a->most[counter] = a->most[counter] < most ? a->most[counter] : (u8)most;
}

static void allow_lgkm(Allowed *a, u32 most)
{
    allow(a, COUNTS_SHARED, most);
    allow(a, COUNTS_SCALAR, most);
}

static void allow_of_s_waitcnt(Allowed *a, const Program *p, u32 bits)
{
    if (p->generation == GFX9) {
        allow(a, COUNTS_LOADS, (bits & 15) | (bits >> 14 & 3) << 4);
        allow_lgkm(a, bits >> 8 & 15);
    } else {
        allow(a, COUNTS_LOADS, bits >> 10 & 63);
        allow_lgkm(a, bits >> 4 & 63);
    }
}

static Allowed allowed_by(const Program *p, const Inst *i)
{
    Allowed a;
    u32 bits = i->raw & 0xffff;
    memset(&a, 0xff, sizeof a);
    if (!strcmp(i->row->mnemonic, "s_waitcnt"))
        allow_of_s_waitcnt(&a, p, bits);
    else if (named(i, "s_waitcnt_vmcnt") || named(i, "s_wait_loadcnt"))
        allow(&a, COUNTS_LOADS, named(i, "s_wait_loadcnt_dscnt") ? bits >> 8 & 63 : bits & 63);
    else if (named(i, "s_waitcnt_vscnt") || named(i, "s_wait_storecnt"))
        allow(&a, COUNTS_STORES, named(i, "s_wait_storecnt_dscnt") ? bits >> 8 & 63 : bits & 63);
    else if (named(i, "s_waitcnt_lgkmcnt"))
        allow_lgkm(&a, bits & 63);
    else if (named(i, "s_wait_dscnt"))
        allow(&a, COUNTS_SHARED, bits & 63);
    else if (named(i, "s_wait_kmcnt"))
        allow(&a, COUNTS_SCALAR, bits & 31);
    if (named(i, "s_wait_loadcnt_dscnt") || named(i, "s_wait_storecnt_dscnt"))
        allow(&a, COUNTS_SHARED, bits & 63);
    if (named(i, "s_wait_idle"))
        memset(&a, 0, sizeof a);
    return a;
}

static bool has_returned(const Operation *op, const Allowed *a)
{
    u32 most = a->most[op->counter];
    return op->counter == COUNTS_SCALAR ? most == 0 : most <= op->later;
}

bool outstanding_wait(Outstanding *o, const Program *p, const Inst *i)
{
    if (!named(i, "s_wait"))
        return false;
    Allowed a = allowed_by(p, i);
    u32 kept = 0;
    for (u32 k = 0; k < o->count; k++)
        if (!has_returned(&o->of[k], &a))
            o->of[kept++] = o->of[k];
    o->count = kept;
    return true;
}

/* ---- operations ---- */

static bool is_vector_memory(const Inst *i)
{
    u8 f = i->row->family;
    return f == FAMILY_GLOBAL || f == FAMILY_FLAT || f == FAMILY_SCRATCH || f == FAMILY_BUFFER;
}

static bool returns(const Inst *i)
{
    if (i->row->detail[2] != ACCESS_ATOMIC)
        return i->row->detail[2] == ACCESS_LOAD;
    return i->row->family == FAMILY_BUFFER ? i->sc0 : i->dst != 0xffff;
}

bool outstanding_moves_to_lds(const Inst *i)
{
    return is_vector_memory(i) && (i->lds || strstr(i->row->mnemonic, "_load_lds_"));
}

bool outstanding_may_read_moved(const Outstanding *o, const Inst *i)
{
    bool reads = (i->row->family == FAMILY_LDS || i->row->family == FAMILY_FLAT) && i->row->detail[2] != ACCESS_STORE;
    for (u32 k = 0; reads && k < o->count; k++)
        if (!o->of[k].count && o->of[k].counter == COUNTS_LOADS)
            return true;
    return false;
}

static bool loads_scalars(const Inst *i)
{
    if (i->row->family == FAMILY_SMEM && i->row->detail[2] != ACCESS_LOAD)
        return true;
    return named(i, "s_load") || named(i, "s_buffer_load") || named(i, "s_mem") || named(i, "s_sendmsg_rtn");
}

/* Bits of the counters that count the instruction. Writing caches back counts as well. */
static u32 counters_of(const Program *p, const Inst *i)
{
    bool split = p->generation >= GFX11;
    u32 stores = 1u << (split ? COUNTS_STORES : COUNTS_LOADS);
    if (is_vector_memory(i))
        return (returns(i) ? 1u << COUNTS_LOADS : stores) | (i->row->family == FAMILY_FLAT ? 1u << COUNTS_SHARED : 0);
    if (i->row->family == FAMILY_LDS)
        return 1u << COUNTS_SHARED;
    if (loads_scalars(i))
        return 1u << COUNTS_SCALAR;
    if (named(i, "buffer_wbl2") || named(i, "global_wb"))
        return stores;
    return p->generation >= GFX12 && named(i, "global_inv") ? 1u << COUNTS_LOADS : 0;
}

/* All that these counters count in order has one more operation after it. */
static void count_in(Outstanding *o, u32 counters)
{
    u32 kept = 0;
    for (u32 k = 0; k < o->count; k++) {
        Operation op = o->of[k];
        bool in_order = op.counter != COUNTS_SCALAR && counters >> op.counter & 1;
        op.later = (u8)(op.later + in_order);
        if (op.later < MOST_LATER)
            o->of[kept++] = op;
    }
    o->count = kept;
}

static u32 add(Outstanding *o, Operation op)
{
    if (o->count == MOST_OUTSTANDING)
        return 0;
    o->of[o->count++] = op;
    return 1;
}

static u8 half_written(const Program *p, const Inst *i)
{
    if (p->generation == GFX9 || !strstr(i->row->mnemonic, "d16"))
        return NO_HALF;
    return strstr(i->row->mnemonic, "d16_hi") ? UPPER_HALF : LOWER_HALF;
}

/* Which of its counters say that the registers, or the place in LDS, are written. */
static u32 counters_that_tell(const Inst *i, u32 counters, u32 goes)
{
    if (i->row->family != FAMILY_FLAT)
        return counters;
    u32 shared = 1u << COUNTS_SHARED;
    return (goes & GOES_TO_MEMORY ? counters & ~shared : 0) | (goes & GOES_TO_LDS ? shared : 0);
}

static u32 add_results(Outstanding *o, const Annotation *n, const Inst *i, Operation op)
{
    u32 added = 0;
    if (i->row->family == FAMILY_BUFFER && i->row->detail[2] == ACCESS_ATOMIC) {
        op.first = i->source[2];
        op.count = (u8)((i->row->bytes + 3) / 4);
        return add(o, op);
    }
    for (u32 k = 0; k < n->operands; k++) {
        if (!n->operand[k].result)
            continue;
        op.first = n->operand[k].first;
        op.count = n->operand[k].count;
        added += add(o, op);
    }
    return added;
}

u32 outstanding_start(Outstanding *o, const Program *p, const Annotation *n, u32 at, u64 lanes, u32 goes)
{
    const Inst *i = &p->code[at];
    u32 counters = counters_of(p, i), added = 0;
    if (!counters)
        return 0;
    count_in(o, counters);
    bool memory = is_vector_memory(i) || i->row->family == FAMILY_LDS;
    bool stores_lds = memory && i->row->detail[2] != ACCESS_LOAD && counters & 1u << COUNTS_SHARED;
    bool moves = outstanding_moves_to_lds(i), writes = (memory && lanes && returns(i) && !moves) || loads_scalars(i);
    u32 tell = counters_that_tell(i, counters, goes);
    for (WaitCounter c = 0; c < WAIT_COUNTERS; c++) {
        Operation op = {.inst = at, .counter = (u8)c, .half = half_written(p, i), .lanes = loads_scalars(i) ? ~0ull : lanes};
        if (tell >> c & 1 && writes)
            added += add_results(o, n, i, op);
        else if (tell >> c & 1 && lanes && ((stores_lds && c == COUNTS_SHARED) || (moves && c == COUNTS_LOADS)))
            added += add(o, op);
    }
    return added;
}

/* ---- conflicts ---- */

/* Lanes count for vector instructions that do not look at other lanes. */
static u64 lanes_touched(const Inst *i, u64 lanes)
{
    static const char *const across[] = {"v_read", "v_perm", "v_mfma", "v_smfma", "v_wmma", "v_swmma", "v_mov_b32_dpp"};
    for (size_t k = 0; k < sizeof across / sizeof *across; k++)
        if (named(i, across[k]))
            return ~0ull;
    return i->dpp || i->row->family == FAMILY_LDS ? ~0ull : lanes;
}

static bool overlaps(const Operation *op, const AnnotatedOperand *r)
{
    bool other_half = op->half && r->half && op->half != r->half;
    return r->first < op->first + op->count && op->first < r->first + r->count && !other_half;
}

/* Results of one kind arrive in order, so the later load wins. */
static bool arrives_later(const Program *p, const Inst *i, const Operation *op)
{
    u32 counters = counters_of(p, i);
    return op->counter != COUNTS_SCALAR && counters >> op->counter & 1 && returns(i);
}

const Operation *outstanding_conflict(const Outstanding *o, const Program *p, const Annotation *n, const Inst *i, u64 lanes,
                                      bool *reads)
{
    if (!o->count || (*i->row->layout == '*' && !is_dual(i)))
        return NULL;
    for (u32 k = 0; k < o->count; k++) {
        const Operation *op = &o->of[k];
        for (u32 r = 0; op->count && r < n->operands; r++) {
            bool vector = op->first >= FIRST_VGPR;
            *reads = n->operand[r].read;
            if (overlaps(op, &n->operand[r]) && (!vector || op->lanes & lanes_touched(i, lanes)) &&
                (*reads || !arrives_later(p, i, op)))
                return op;
        }
    }
    return NULL;
}

bool outstanding_passes_barrier(const Inst *i) { return i->row->family == FAMILY_BARRIER && !named(i, "s_barrier_wait"); }

void outstanding_forget(Outstanding *o, u32 inst)
{
    u32 kept = 0;
    for (u32 k = 0; k < o->count; k++)
        if (o->of[k].inst != inst)
            o->of[kept++] = o->of[k];
    o->count = kept;
}

bool outstanding_merge(Outstanding *o, const Outstanding *from)
{
    bool changed = false;
    for (u32 k = 0; k < from->count; k++) {
        const Operation *f = &from->of[k];
        u32 at = 0;
        while (at < o->count && !(o->of[at].inst == f->inst && o->of[at].first == f->first && o->of[at].counter == f->counter))
            at++;
        if (at == o->count) {
            changed |= add(o, *f) != 0;
        } else if (f->later < o->of[at].later) {
            o->of[at].later = f->later;
            changed = true;
        }
    }
    return changed;
}

/* ---- telling ---- */

void outstanding_remedy(const Program *p, const Operation *op, char *text, size_t bytes)
{
    static const char *const old[] = {"vmcnt", "vscnt", "lgkmcnt", "lgkmcnt"};
    static const char *const new[] = {"loadcnt", "storecnt", "dscnt", "kmcnt"};
    u32 most = op->counter == COUNTS_SCALAR ? 0 : op->later;
    if (p->generation >= GFX12)
        snprintf(text, bytes, "s_wait_%s 0x%x", new[op->counter], most);
    else
        snprintf(text, bytes, "s_waitcnt %s(%u)", old[op->counter], most);
}
