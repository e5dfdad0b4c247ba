#include "native/x86.h"

#define EMIT(c, ...) emit(c, (const u8[]){__VA_ARGS__}, sizeof((const u8[]){__VA_ARGS__}))

static void emit(Code *c, const void *bytes, u64 count)
{
    if (c->used + count > c->room) {
        c->full = true;
        return;
    }
    memcpy(c->bytes + c->used, bytes, count);
    c->used += count;
}
static void emit32(Code *c, u32 x) { emit(c, &x, sizeof x); }
static void emit64(Code *c, u64 x) { emit(c, &x, sizeof x); }

/* ---- vectors of 16 lanes ---- */

enum { VECTOR_BYTES = 64 };
static u32 unit_of(Operand b) { return b.place == IN_SPLAT ? 4 : VECTOR_BYTES; }

/* ModRM and what follows it: offsets count in units of the access where they fit into a byte. No base is RSP or R12. */
static void emit_operand(Code *c, u8 to, Operand b)
{
    u8 reg = (u8)((to & 7) << 3);
    i32 unit = (i32)unit_of(b), steps = b.offset / unit;
    if (b.place == IN_REGISTER) {
        EMIT(c, (u8)(0xc0 | reg | (b.reg & 7)));
    } else if (b.offset % unit == 0 && steps >= -128 && steps < 128) {
        EMIT(c, (u8)(0x40 | reg | (b.base & 7)), (u8)steps);
    } else {
        EMIT(c, (u8)(0x80 | reg | (b.base & 7)));
        emit32(c, (u32)b.offset);
    }
}

void x86_vector(Code *c, u32 op, u8 to, u8 a, Operand b, u8 mask)
{
    enum { BITS_512 = 2 };
    bool splat = b.place == IN_SPLAT && op != VPBROADCASTD, memory = b.place != IN_REGISTER;
    u8 base = memory ? b.base : b.reg;
    u8 p0 = (u8)(!(to & 8) << 7 | (memory || !(base & 16)) << 6 | !(base & 8) << 5 | !(to & 16) << 4 | op >> 16);
    u8 p1 = (u8)((op >> 8 & 1) << 7 | (~a & 15) << 3 | 4 | (op >> 12 & 3));
    u8 p2 = (u8)(BITS_512 << 5 | splat << 4 | !(a & 16) << 3 | mask);
    EMIT(c, 0x62, p0, p1, p2, (u8)op);
    emit_operand(c, to, b);
}

void x86_vector_by(Code *c, u32 op, u8 to, u8 a, Operand b, u8 mask, u8 immediate)
{
    x86_vector(c, op, to, a, b, mask);
    EMIT(c, immediate);
}

void x86_vzeroupper(Code *c) { EMIT(c, 0xc5, 0xf8, 0x77); }

/* ---- masks ---- */

static void mask_move(Code *c, u8 opcode, u8 mask, u8 base, u64 offset)
{
    EMIT(c, 0xc5, 0xf8, opcode, (u8)(0x80 | mask << 3 | base));
    emit32(c, (u32)offset);
}
void x86_mask_load(Code *c, u8 mask, u8 base, u64 offset) { mask_move(c, 0x90, mask, base, offset); }
void x86_mask_store(Code *c, u8 mask, u8 base, u64 offset) { mask_move(c, 0x91, mask, base, offset); }

void x86_mask_set(Code *c, u8 mask, u32 bits)
{
    EMIT(c, 0xb8); /* mov eax, bits */
    emit32(c, bits);
    EMIT(c, 0xc5, 0xf8, 0x92, (u8)(0xc0 | mask << 3)); /* kmovw mask, eax */
}

void x86_mask_or(Code *c, u8 to, u8 a, u8 b)
{
    EMIT(c, 0xc5, (u8)(0x84 | (~a & 15) << 3), 0x45, (u8)(0xc0 | to << 3 | b)); /* korw */
}

void x86_set(Code *c, u8 reg, u64 value)
{
    EMIT(c, (u8)(0x48 | reg >> 3), (u8)(0xb8 | (reg & 7)));
    emit64(c, value);
}

/* ---- the frame.  System V ABI, AMD64, "Register Usage": what is pushed belongs to the caller ---- */

static void restore_and_return(Code *c)
{
    EMIT(c, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x5d, 0x5b, 0xc3); /* pop r15, r14, r13, rbp, rbx; ret */
}

void x86_run_begin(Code *c, const Inst *first)
{
    EMIT(c, 0x53, 0x55, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx, rbp, r13, r14, r15: so the stack is aligned */
    EMIT(c, 0x48, 0x89, 0xfb);                               /* mov rbx, rdi */
    EMIT(c, 0x48, 0x8b, 0xaf);                               /* mov rbp, [rdi + v] */
    emit32(c, offsetof(Wave, v));
    EMIT(c, 0x4c, 0x8b, 0xaf);                               /* mov r13, [rdi + constants] */
    emit32(c, offsetof(Wave, constants));
    x86_set(c, AT_CODE, (u64)first);
}

void x86_run_call(Code *c, const Inst *i, const Inst *first, u64 stopped)
{
    EMIT(c, 0x49, 0x8d, 0xb6); /* lea rsi, [r14 + i - first] */
    emit32(c, (u32)((u64)i - (u64)first));
    EMIT(c, 0x48, 0x89, 0xb3); /* mov [rbx + at], rsi */
    emit32(c, offsetof(Wave, at));
    EMIT(c, 0x48, 0x89, 0xdf); /* mov rdi, rbx */
    x86_set(c, RAX, (u64)i->all_active);
    EMIT(c, 0xff, 0xd0);       /* call rax */
    EMIT(c, 0x83, 0xbb);       /* cmp dword [rbx + stop], 0 */
    emit32(c, offsetof(Wave, stop));
    EMIT(c, STOP_NONE, 0x0f, 0x85); /* jne */
    emit32(c, (u32)(stopped - c->used - 4));
}

void x86_run_end(Code *c, const Inst *next)
{
    x86_set(c, RAX, (u64)next);
    restore_and_return(c);
}

u64 x86_runs_stopped(Code *c)
{
    u64 start = c->used;
    EMIT(c, 0x48, 0x8b, 0x83); /* mov rax, [rbx + at] */
    emit32(c, offsetof(Wave, at));
    EMIT(c, 0x0f, 0xb7, 0x88); /* movzx ecx, word [rax + steps] */
    emit32(c, offsetof(Inst, steps));
    EMIT(c, 0x69, 0xc9);       /* imul ecx, ecx, sizeof(Inst) */
    emit32(c, sizeof(Inst));
    EMIT(c, 0x48, 0x01, 0xc8); /* add rax, rcx */
    restore_and_return(c);
    return start;
}
