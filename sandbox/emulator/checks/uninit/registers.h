/* DefinedBits on registers: which bits of which lanes of them are unset. */
#ifndef AMDKERNEL_TAINT_H
#define AMDKERNEL_TAINT_H

#include "checks/shadow.h"
#include "checks/observers.h"

/* What is known of one register; of a scalar, every lane says the same. */
typedef struct {
    u32 bits[LANES];
    u64 undefined, partly_defined, placed;    /* lanes */
    u8 origin;
} DefinedBits;

static inline bool is_scalar(u32 reg) { return reg < FIRST_VGPR; }
static inline bool is_register(u32 operand)
{
    return operand < SCALAR_FILE || (operand >= FIRST_VGPR && operand < REGISTER_NUMBERS);
}

/* Lanes of which some bit is unset. */
static inline u64 lanes_of(const Uninit *t, u32 reg) { return t->lanes[reg]; }

static inline u32 bits_of_lane(const Uninit *t, u32 reg, u32 lane)
{
    return is_scalar(reg) ? t->scalar[reg] : t->vector[reg - FIRST_VGPR][lane];
}
static inline u32 flags_of_lane(const Uninit *t, u32 reg, u32 lane)
{
    return (t->undefined[reg] >> lane & 1 ? UNDEFINED : 0) | (t->partly_defined[reg] >> lane & 1 ? PARTLY_DEFINED : 0) |
           (t->placed[reg] >> lane & 1 ? PLACED : 0);
}

/* A bit for each byte of which some bit is unset, and back. */
static inline u32 bytes_of(u32 bits)
{
    return (bits & 0xff ? 1u : 0) | (bits & 0xff00 ? 2u : 0) | (bits & 0xff0000 ? 4u : 0) | (bits & 0xff000000 ? 8u : 0);
}
static inline u32 bits_of(u32 bytes)
{
    return (bytes & 1 ? 0xffu : 0) | (bytes & 2 ? 0xff00u : 0) | (bytes & 4 ? 0xff0000u : 0) | (bytes & 8 ? 0xff000000u : 0);
}

/* The bits of a register changed. */
void uninit_settle(Uninit *t, u32 reg);
/* Bits of lanes that become unset, with these flags. */
void uninit_set(Uninit *t, u32 reg, u64 lanes, u32 bits, u32 flags, u8 origin);
/* Bits of lanes that are set now; what is set in part is no longer what it was. */
void uninit_clear(Uninit *t, u32 reg, u32 bits, u64 lanes);
void uninit_take(const Uninit *t, u32 reg, DefinedBits *m);
/* In place of what was known of these lanes; of a scalar register, lane 0 counts. */
void uninit_put(Uninit *t, u32 reg, u64 lanes, const DefinedBits *m);
/* Bits of a mask of lanes, in one register or two. */
u64 uninit_mask_bits(const Wave *w, const Uninit *t, u32 reg);
void uninit_put_mask(const Wave *w, Uninit *t, u32 reg, u64 lanes, u8 origin);
/* Something depends on a register: tell where it was loaded. */
void uninit_used(Wave *w, const Inst *i, Uninit *t, u32 reg);
void uninit_record_use(const Wave *w, const Inst *i, Uninit *t, u8 origin);

static inline bool is_half_type(u8 type)
{
    return type == TYPE_U16 || type == TYPE_I16 || type == TYPE_F16 || type == TYPE_BF16;
}

/* Which bytes of its register a memory instruction moves, of `bytes` in memory. */
static inline u32 moved_bytes(const Inst *i, u32 bytes)
{
    u32 lower = bytes < 4 ? (1u << bytes) - 1 : ALL_BYTES;
    return strstr(i->row->mnemonic, "d16_hi") ? lower << 2 & ALL_BYTES : lower;
}

/* ---- taint_rules.c: unset bits of results ---- */

/* A source as the instruction sees it, after modifiers. */
typedef struct { u64 value, unset; } Seen;

typedef struct Rule Rule;
struct Rule {
    const char *with;            /* how mnemonics begin */
    u64 (*unset)(const Rule *r, const Inst *i, const Seen *s, u32 lane);
    u32 detail;
    u32 selects;                 /* sources, a bit each, that choose from the others and do not come into the result */
};

/* For instructions that are not in the table: all depends on all. */
const Rule *uninit_rule_of(const Inst *i);
/* Sources, a bit each, of which bits of the result depend on those in the same place alone. */
u32 uninit_sources_in_place(const Rule *r);

/* ---- taint_compute.c ---- */

/* What is computed from registers, lane by lane or of scalars. */
void uninit_compute(Wave *w, const Inst *i, Uninit *t, const Annotation *n);
void uninit_compute_dual(Wave *w, const Inst *i, Uninit *t);
void uninit_compute_scalar(Wave *w, const Inst *i, Uninit *t, const Annotation *n);

#endif
