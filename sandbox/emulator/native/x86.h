/* The few x86-64 instructions that compiled runs are made of, as bytes. Source: Intel SDM vol. 2, "EVEX", "VEX".
   By hand, because an assembler library is larger than the emulator and knows thousands more. */
#ifndef AMDKERNEL_X86_H
#define AMDKERNEL_X86_H

#include "machine/machine.h"

typedef struct { u8 *bytes; u64 used, room; bool full; } Code;

/* Registers of the host that a compiled run keeps: the wave, its vector registers, the constants, the instructions. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R13 = 13, R14, R15 };
enum { AT_WAVE = RBX, AT_ROWS = RBP, AT_CONSTANTS = R13, AT_CODE = R14 };

/* What an instruction reads last: a register, 64 bytes of memory, or 4 of them for every lane. */
typedef enum { IN_REGISTER, IN_MEMORY, IN_SPLAT } Place;
typedef struct { Place place; u8 reg, base; i32 offset; } Operand;

static inline Operand in_register(u8 reg) { return (Operand){IN_REGISTER, reg, 0, 0}; }
static inline Operand in_memory(u8 base, u64 offset) { return (Operand){IN_MEMORY, 0, base, (i32)offset}; }
static inline Operand in_splat(u8 base, u64 offset) { return (Operand){IN_SPLAT, 0, base, (i32)offset}; }

/* map 1: 0F, 2: 0F38, 3: 0F3A; prefix 0: none, 1: 66, 2: F3, 3: F2. */
#define EVEX(map, prefix, w, opcode) ((u32)(map) << 16 | (prefix) << 12 | (w) << 8 | (opcode))
enum {
    VMOVDQA32_LOAD = EVEX(1, 1, 0, 0x6f), VMOVDQA32_STORE = EVEX(1, 1, 0, 0x7f), VPBROADCASTD = EVEX(2, 1, 0, 0x58),
    VPBROADCASTD_FROM_GENERAL = EVEX(2, 1, 0, 0x7c),
    VPADDD = EVEX(1, 1, 0, 0xfe), VPSUBD = EVEX(1, 1, 0, 0xfa), VPMULLD = EVEX(2, 1, 0, 0x40), VPMULUDQ = EVEX(1, 1, 1, 0xf4),
    VPANDD = EVEX(1, 1, 0, 0xdb), VPORD = EVEX(1, 1, 0, 0xeb), VPXORD = EVEX(1, 1, 0, 0xef), VPTERNLOGD = EVEX(3, 1, 0, 0x25),
    VPMINSD = EVEX(2, 1, 0, 0x39), VPMAXSD = EVEX(2, 1, 0, 0x3d), VPMINUD = EVEX(2, 1, 0, 0x3b), VPMAXUD = EVEX(2, 1, 0, 0x3f),
    VPSLLVD = EVEX(2, 1, 0, 0x47), VPSRLVD = EVEX(2, 1, 0, 0x45), VPSRAVD = EVEX(2, 1, 0, 0x46),
    VPSHIFTD_BY = EVEX(1, 1, 0, 0x72), VPSHIFTQ_BY = EVEX(1, 1, 1, 0x73), VPSHUFD = EVEX(1, 1, 0, 0x70),
    VPBLENDMD = EVEX(2, 1, 0, 0x64), VPCMPD = EVEX(3, 1, 0, 0x1f), VPCMPUD = EVEX(3, 1, 0, 0x1e), VCMPPS = EVEX(1, 0, 0, 0xc2),
    VPTESTNMD = EVEX(2, 2, 0, 0x27),
    VADDPS = EVEX(1, 0, 0, 0x58), VMULPS = EVEX(1, 0, 0, 0x59), VSUBPS = EVEX(1, 0, 0, 0x5c), VFMADD231PS = EVEX(2, 1, 0, 0xb8),
    VCVTDQ2PS = EVEX(1, 0, 0, 0x5b), VCVTUDQ2PS = EVEX(1, 3, 0, 0x7a),
};
/* VPSHIFT?_BY say in their result's place which way. */
enum { SHIFT_RIGHT = 2, SHIFT_RIGHT_SIGNED = 4, SHIFT_LEFT = 6 };
/* What VPCMPD asks. */
enum { ASK_EQUAL, ASK_LESS, ASK_LESS_OR_EQUAL, ASK_NOT_EQUAL = 4, ASK_NOT_LESS, ASK_GREATER };
/* Results of VPTERNLOGD for (a, b, c) = 4a + 2b + c. */
enum { TRUTH_A = 0xf0, TRUTH_B = 0xcc, TRUTH_C = 0xaa };

/* `to` = op(a, b) of 16 lanes; a lane whose bit in `mask` is 0 stays as it was. Mask 0: all lanes are written.
 * One-operand forms have a = NO_OPERAND. */
enum { NO_OPERAND = 0 };
void x86_vector(Code *c, u32 op, u8 to, u8 a, Operand b, u8 mask);
void x86_vector_by(Code *c, u32 op, u8 to, u8 a, Operand b, u8 mask, u8 immediate);

/* A mask of 16 lanes from and to memory, and the union of two. */
void x86_mask_load(Code *c, u8 mask, u8 base, u64 offset);
void x86_mask_store(Code *c, u8 mask, u8 base, u64 offset);
void x86_mask_set(Code *c, u8 mask, u32 bits);
void x86_mask_or(Code *c, u8 to, u8 a, u8 b);

void x86_set(Code *c, u8 reg, u64 value);
void x86_vzeroupper(Code *c);

/* ---- the frame of a CompiledRun; `first` is the instruction that others are found from ---- */

void x86_run_begin(Code *c, const Inst *first);
/* Calls the handler of `i`, and continues at `stopped` if that stops the wave. */
void x86_run_call(Code *c, const Inst *i, const Inst *first, u64 stopped);
/* Where a run ends: by itself, before `next`; or since the wave stopped, of all runs the same code. */
void x86_run_end(Code *c, const Inst *next);
u64 x86_runs_stopped(Code *c);

#endif
