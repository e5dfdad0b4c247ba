/* Which bits of registers are unset, lane by lane. */
#ifndef AMDKERNEL_CHECKS_UNINIT_REGISTERS_H
#define AMDKERNEL_CHECKS_UNINIT_REGISTERS_H

#include "checks/shadow.h"

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

/* Lanes with an unset bit. */
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

/* A bit for each byte that has an unset bit, and back. */
static inline u32 bytes_of(u32 bits)
{
    return (bits & 0xff ? 1u : 0) | (bits & 0xff00 ? 2u : 0) | (bits & 0xff0000 ? 4u : 0) | (bits & 0xff000000 ? 8u : 0);
}
static inline u32 bits_of(u32 bytes)
{
    return (bytes & 1 ? 0xffu : 0) | (bytes & 2 ? 0xff00u : 0) | (bytes & 4 ? 0xff0000u : 0) | (bytes & 8 ? 0xff000000u : 0);
}

/* The number of an origin; those of one instruction are one. */
u8 uninit_origin(Origins *o, const Origin *from);

/* The bits of a register changed. */
void uninit_settle(Uninit *t, u32 reg);
/* Bits of lanes that become unset, with these flags. */
void uninit_set(Uninit *t, u32 reg, u64 lanes, u32 bits, u32 flags, u8 origin);
/* Bits of lanes become set; the flags of partly set lanes are dropped. */
void uninit_clear(Uninit *t, u32 reg, u32 bits, u64 lanes);
void uninit_take(const Uninit *t, u32 reg, DefinedBits *m);
/* Replaces what was known of these lanes; for a scalar register, lane 0 counts. */
void uninit_put(Uninit *t, u32 reg, u64 lanes, const DefinedBits *m);
/* Bits of a mask of lanes, in one register or two. */
u64 uninit_mask_bits(const Wave *w, const Uninit *t, u32 reg);
void uninit_put_mask(const Wave *w, Uninit *t, u32 reg, u64 lanes, u8 origin);
/* Something depends on a register: reports where it was loaded. */
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

/* What a lane's load brought of a register: unset bits of `width` bytes, at most 4, of those that lie at `address`; 0: not
 * in global memory. */
typedef struct { u32 bits, flags, width; u64 address; u32 bytes; } Part;
void uninit_load(Wave *w, const Inst *i, const Origin *from, u16 reg, u64 lane_bit, Part p);
/* Of lanes that load what is unset: those that load parts of a struct; `partly_defined` is known already. */
u64 uninit_parts(Wave *w, const u64 *address, u64 unset, u64 partly_defined, u32 bytes);
void uninit_stored(Wave *w, const Inst *i, u16 reg, const u64 *address, u32 bytes, u64 lanes);
/* After it: the unset bits of each of the lane's bytes that are as unset in memory as they were where they come from. */
void uninit_copied(const Wave *w, const Inst *i, u16 reg, u64 address, u32 bytes, u32 lane, u8 *bits);
/* The same of a store to LDS, which passes the value on. */
void uninit_shared(Wave *w, const Inst *i, u16 reg, const u32 *offset, u64 active, u32 bytes);
void uninit_private(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
void uninit_destroy(Uninit *t);
bool uninit_pending(const Wave *w);

#endif
