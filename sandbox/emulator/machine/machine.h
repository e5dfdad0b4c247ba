/*
 * The emulated machine as handlers see it: a wave, a decoded instruction, and the way to operands and results.
 *
 * A handler gets a wave and an instruction and no more. EXEC, neg/abs/clamp/omod, SDWA and DPP live in
 * source() and put(), so that a body is one lane's arithmetic.
 */
#ifndef AMDKERNEL_MACHINE_H
#define AMDKERNEL_MACHINE_H

#include <stddef.h>
#include <string.h>

#include "emulator.h"
#include "memory/span.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* Functions that bodies call rarely save the registers, so that the bodies need not. */
#define SELDOM __attribute__((preserve_most, noinline))

typedef struct Wave Wave;
typedef struct Inst Inst;
typedef void Handler(Wave *w, const Inst *i);
/* Runs a straight run, or until one of its instructions stops the wave. Returns the next instruction. */
typedef const Inst *CompiledRun(Wave *w);

enum {
    LANES = 64,
    SGPR_VCC = 106,
    SGPR_TTMP = 108,       /* 16 of them */
    TTMP8_WAVE_AT = 25, TTMP8_WAVE_END = 30, /* on RDNA4: bits of the wave's number */
    SGPR_M0 = 124,
    SGPR_EXEC = 126,
    SGPR_NULL = 128,       /* takes unused results of up to 16 words; as a source it is the constant 0 */
    SCALAR_FILE = 144,     /* operands below: words of the scalar file */
    SOURCE_VCCZ = 251,
    SOURCE_EXECZ = 252,
    SOURCE_SCC = 253,
    SOURCE_OFF = 254,      /* `off`: no operand here */
    SOURCE_CONSTANT = 255, /* see Inst.constant */
    FIRST_VGPR = 256,      /* v0 */
    FIRST_AGPR = 512,      /* a0 */
    VECTOR_REGISTERS = 512,
    SOURCES = 5,           /* the most that an instruction has: scaled matrix products */
};

/* Bits of MODE.  CDNA3 ISA, RDNA3 ISA, "MODE register"; RDNA4 has neither of the first two. */
enum { MODE_DX10_CLAMP = 1 << 8, MODE_IEEE = 1 << 9, MODE_FP16_OVERFLOW = 1 << 23, MODE_VSKIP = 1 << 28 /* CDNA */ };

/* Where LDS and scratch appear in the flat address space; the high words that the amdgpu driver programs. */
#define SHARED_APERTURE 0x00010000u
#define PRIVATE_APERTURE 0x00020000u

/* Whose manual a program follows: CDNA's, RDNA3's or RDNA4's. */
typedef enum { GFX9, GFX11, GFX12 } Generation;

typedef enum {
    TYPE_NONE, TYPE_U32, TYPE_I32, TYPE_F32, TYPE_U16, TYPE_I16, TYPE_F16, TYPE_BF16,
    TYPE_U64, TYPE_I64, TYPE_F64, TYPE_PKF16, TYPE_PKU16, TYPE_PKF32, TYPE_WIDE,
} Type;

typedef enum {
    FAMILY_SALU, FAMILY_SMEM, FAMILY_VALU, FAMILY_MFMA, FAMILY_LDS, FAMILY_GLOBAL, FAMILY_SCRATCH, FAMILY_FLAT,
    FAMILY_BUFFER, FAMILY_BRANCH, FAMILY_BARRIER, FAMILY_MISC,
} Family;

/* Modifiers that an instruction text can carry; a row lists those its handler honours. */
enum {
    MOD_CLAMP = 1, MOD_OMOD = 2, MOD_NEG = 4, MOD_ABS = 8, MOD_SDWA = 16, MOD_DPP = 32, MOD_OP_SEL = 64,
    MOD_OP_SEL_HI = 128, MOD_NEG_LO_HI = 256, MOD_OFFSET = 512, MOD_OFFSET01 = 1024, MOD_CACHE = 2048,
    MOD_BUFFER = 4096, MOD_MFMA = 8192, MOD_SC0 = 16384, MOD_SEXT = 32768, MOD_LDS = 65536,
    MOD_BITOP3 = 131072, MOD_PART = 262144 /* op_sel names bytes or words, as the body says */,
    MOD_BYTE_SEL = 524288, MOD_INDEX_KEY = 1048576, MOD_GDS = 2097152,
};

/* What a row of isa/<family>.def says: enough to decode, run and count the instruction. */
typedef struct {
    const char *mnemonic;
    Handler *run;
    Handler *all_active;        /* the same for Inst.all_active, or NULL */
    const char *layout;    /* text operands in order, see decode.c; alternatives split by '|' */
    u8 family;
    u8 result;             /* Type of the vector or scalar result */
    u8 source[SOURCES];    /* Types */
    u32 modifiers;
    u16 bytes;             /* memory: per lane; mfma: M */
    u8 detail[6];          /* meaning belongs to the family's body */
    bool alone;            /* SALU, SMEM: jumps or reads the clock, so that it is part of no straight run */
    u8 lane_sources;       /* how many sources `all_active` reads as rows of lanes, the first ones */
} Row;

/* What a memory instruction's row says in detail[2]. */
typedef enum { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC } AccessKind;

typedef enum {
    ATOMIC_ADD, ATOMIC_SUB, ATOMIC_RSUB, ATOMIC_SMIN, ATOMIC_UMIN, ATOMIC_SMAX, ATOMIC_UMAX, ATOMIC_AND, ATOMIC_OR,
    ATOMIC_XOR, ATOMIC_INC, ATOMIC_DEC, ATOMIC_SWAP, ATOMIC_CMPSWAP, ATOMIC_FADD, ATOMIC_FMIN, ATOMIC_FMAX,
    ATOMIC_FCMPSWAP, ATOMIC_PK_FADD, ATOMIC_PK_BFADD, ATOMIC_MSKOR, ATOMIC_WRAP,
    ATOMIC_SUB_CLAMP, ATOMIC_COND_SUB, ATOMIC_FMIN_NUM, ATOMIC_FMAX_NUM, ATOMIC_CONDXCHG,
} AtomicOp;

typedef struct { const Row *rows; u32 count; } RowTable;

/* How a source is to be read. */
enum { READ_PLAIN, READ_CONSTANT, READ_UNIFORM, READ_MODIFIED };

/* Where rows of 64 lanes lie: Wave.bases. */
enum { BASE_REGISTERS, BASE_CONSTANTS, BASE_SCRATCH_ROWS, BASES };
enum { LANE_SOURCES = 3 }; /* the most that Row.all_active reads */

/* The first 64 bytes, a line of the host's cache, hold what most handlers read while all lanes are active. */
struct Inst {
    Handler *all_active;         /* what to run while all lanes are active: `run` or something faster */
    u32 result_place;       /* bytes from the registers */
    union {
        struct { u32 place[LANE_SOURCES], upper_place[LANE_SOURCES]; }; /* bytes from a base */
        struct { u32 address_place, at[2], reach; } read; /* of LDS: what each access adds to addresses, bytes needed there */
    };
    i32 offset;
    i32 offset1;
    u8 base[LANE_SOURCES];
    u8 filled;              /* a source at BASE_SCRATCH_ROWS */
    u16 straight, steps;    /* see link_runs() */
    u16 sdst;               /* scalar result */
    u16 dst;                /* vector result */
    Handler *run;
    const Row *row;
    u16 source[SOURCES];
    u16 upper[LANE_SOURCES]; /* READ_PLAIN of two f32: register of the upper one, `source` being that of the lower */
    u8 splat[SOURCES];      /* READ_CONSTANT: which of Program.constants */
    u8 how[SOURCES];
    bool modified;              /* the result needs more than EXEC: clamp, omod, SDWA or DPP */
    u32 raw;                /* first dword of the machine code: SOPP/SOPK immediates */
    u32 target;             /* index of a branch target; of a dual instruction's first half in Program.halves */
    u8 neg, abs, sext;      /* a bit per source */
    u8 neg_hi;
    u8 op_sel, op_sel_hi;   /* a bit per source; op_sel bit 3 (or the one after the last source) is the result's */
    u8 omod, clamp;
    u8 half;                /* bits 0-2: the source is the upper half of its register; then HALF_… of the result */
    bool sdwa;
    u8 select[2], dst_select, dst_unused;
    u8 dpp, row_mask, bank_mask, bound_zero; /* dpp: Dpp kind */
    bool fetch_inactive;    /* DPP may read inactive lanes */
    u8 operands;            /* in the text */
    u8 sc0, lds, offen, idxen;
    u8 cbsz, abid, blgp;
    u8 index_key;           /* which indices of a sparse product's register */
    u8 bitop3;              /* truth table: bit 4a + 2b + c */
    u32 dpp_control;
    u32 text;               /* offset of the disassembly in Program.text */
    u64 constant[SOURCES];
} __attribute__((aligned(64)));
_Static_assert(offsetof(Inst, row) == 64 && sizeof(Inst) == 192, "lines of the host's cache");

/* Two operations in one, Program.halves[target] and the next (VOPD). */
static inline bool is_dual(const Inst *i) { return !strcmp(i->row->mnemonic, "v_dual"); }

enum { DPP_NONE, DPP_QUAD_PERM, DPP_ROW_SHL, DPP_ROW_SHR, DPP_ROW_ROR, DPP_WAVE_SHL, DPP_WAVE_ROL, DPP_WAVE_SHR,
       DPP_WAVE_ROR, DPP_ROW_MIRROR, DPP_ROW_HALF_MIRROR, DPP_ROW_BCAST15, DPP_ROW_BCAST31, DPP_ROW_NEWBCAST,
       DPP_ROW_XMASK, DPP_LANES_OF_8 };
enum { HALF_RESULT_UPPER = 8, HALF_RESULT_ALONE = 16 }; /* goes to the upper half; leaves the other half as it was */
enum { SELECT_BYTE_0, SELECT_BYTE_1, SELECT_BYTE_2, SELECT_BYTE_3, SELECT_WORD_0, SELECT_WORD_1, SELECT_DWORD };
enum { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

struct Program {
    Inst *code;             /* count instructions, then a sentinel */
    u32 *index_of;          /* dword offset -> instruction, or ~0 */
    u32 *offset_of;         /* instruction -> byte offset */
    char *text;
    u32 (*constants)[2 * LANES]; /* of operands: 64 low words, 64 high words */
    u64 address, bytes;
    u32 count, constant_count;
    const struct GpuShape *shape; /* NULL: no memory model */
    Inst *halves;           /* of dual instructions (VOPD), two by two */
    u32 duals;
    CompiledRun **compiled; /* by the run's first instruction; NULL, or of it, where the loop interprets */
    u8 *machine_code;       /* of the host, see native/ */
    u64 machine_code_bytes;
    Generation generation;
    bool wave32;            /* decoded for waves of 32 lanes, else of 64 */
    u64 text_start, text_end; /* of the section; this may be one kernel's part of it */
    char arch[16];          /* "gfx942" */
    struct Annotation **annotations;    /* what the checks know of each instruction: points to NULL at first, see annotations.h */
    bool ocp_float8;        /* gfx950 and later; gfx942 has the FNUZ formats */
    bool flushes_halves;    /* gfx90a: matrix and dot products take and give no denormal f16 or bf16 */
};

/* Why a wave came back to the scheduler. */
typedef enum { STOP_NONE, STOP_BARRIER, STOP_END, STOP_FAULT, STOP_YIELD, STOP_MODE } Stop;

typedef struct { u64 executions, lanes; } PcExecutions;

typedef struct Worker Worker;
typedef struct Gws Gws;                 /* isa/gws.h */
typedef struct Checks Checks;           /* checks/shadow.h */
typedef struct Changes Changes;         /* checks/changes.h */
typedef struct Findings Findings;
typedef struct GroupShadow GroupShadow; /* checks/shadow.h */

/* At a barrier of the grid: its resource, and how often that had been passed. */
typedef struct { bool waits; u32 number, passes; } GwsWait;

enum { CALLS = 16 };        /* deeper ones are not remembered */

struct Wave {
    u32 s[SCALAR_FILE] __attribute__((aligned(64)));
    u32 scc, mode, pc;
    const Inst *at;         /* the instruction that runs; its handler may have got a copy */
    u32 indexing;           /* which operands M0 moves, see s_set_gpr_idx_on; 0 is off */
    Stop stop;
    u32 (*v)[LANES];
    const u8 *bases[BASES];
    const u32 (*constants)[2 * LANES];
    u8 *lds;
    u32 lds_bytes;
    u8 *scratch;            /* scratch_bytes for each lane, one lane after the other */
    u32 scratch_bytes;
    u32 scratch_stored;     /* no lane has stored to its scratch from here on */
    u32 call_depth;
    u64 calls[CALLS];       /* return addresses, the kernel's own call first */
    u32 index;              /* within the workgroup */
    u32 workgroup[3];
    Worker *worker;
    struct Trace *trace;    /* what the memory model is to see, or NULL */
    struct Steps *steps;    /* what it executes is recorded there, see timing/record.h; or NULL */
    GroupShadow *shadow;    /* what the checks know of the workgroup; NULL without checks */
    const Program *program;
    CompiledRun **compiled; /* Program.compiled, or NULL */
    bool wave32;            /* lanes 32 to 63 are never active; their registers may hold anything */
    u64 all_lanes;          /* EXEC when all lanes are active */
    bool ended, at_barrier;
    u32 *signals;           /* of the workgroup's waves at its barrier, since that was last passed */
    bool signalled;         /* has arrived at the barrier, and may be on its way still */
    bool barrier_open;      /* all have signalled: the next wait does not */
    GwsWait gws;
    u64 ran;                /* wave-instructions so far */
    bool met;               /* it has just loaded what other workgroups may store: another wave should run now */
    u32 meetings;           /* how often it did */
    u32 takes;              /* of one that repeats for ever: 1 + the instruction by which it takes a value of a lane that is
                               not active; 0: none */
    struct { u64 steps, next; } held; /* it does not run before the queue has come so far in one of them */
};

enum { SPAN_CACHE = 64 };

/* Counts that do not follow from the executions of instructions: they apply to some executions only. */
typedef struct {
    u64 taken, divergent, barriers;
    u64 items, waves_under[4];    /* lanes at the start; waves with fewer than 64, 48, 32, 16 of them */
    u64 bytes_in_lds[3];          /* of vector memory instructions whose address was one of LDS, by AccessKind */
    u64 bytes_in_scratch[3];
    u64 flat_in_lds, flat_only_in_lds; /* flat instructions with a lane, or all lanes, in LDS */
    u64 longest_wave;             /* instructions of the wave that ran most */
} Events;

typedef struct { u64 active, bank_conflicts, address_conflicts, misaligned_lanes; } LdsCycles;

/* What one thread of the emulation owns. */
struct Worker {
    Memory *memory;
    const Dispatch *dispatch;
    PcExecutions *pc_counts;           /* one per instruction */
    Span cache[SPAN_CACHE]; /* last span hit, by instruction */
    u64 met[SPAN_CACHE];    /* the address that its first lane had */
    u64 budget;             /* wave-instructions until the wave must yield */
    u64 host_steps;         /* that calls to the host count as since the slice began */
    u64 clock;              /* what s_memtime reads */
    Events events;
    LdsCycles lds;
    PcCounts *pcs;          /* NULL, or one per instruction */
    struct L1View *view;
    u32 observers;           /* Observer bits: what is reported of memory accesses, see observers.h */
    Checks *checks;         /* NULL without checks */
    Findings *findings;     /* NULL: none yet */
    Changes *changes;       /* where OBSERVE_CHANGES keeps them */
    Gws *gws;               /* NULL: not a cooperative launch */
    Fault fault;
    u32 scratch_row[4][2 * LANES] __attribute__((aligned(64))); /* where a body's sources and result lie if not in registers */
};

/* Wave-instructions that this thread has run: a clock that advances, not a measure of time on a GPU. An instruction takes
 * four cycles or a few more or less, so that the lowest bits say nothing. */
static inline u64 shader_clock(Worker *k)
{
    k->clock++;
    u64 ran = k->clock - k->budget;
    return 4 * ran + (ran * 0x9e3779b97f4a7c15ull >> 62);
}
/* The constant 100 MHz clock, of a GPU that would run at 2.1 GHz. */
static inline u64 real_clock(Worker *k)
{
    k->clock += 6;
    return (k->clock - k->budget) / 5;
}

/* ---- scalar operands ---- */

static inline u64 pair(u32 low, u32 high) { return (u64)high << 32 | low; }
static inline u64 exec_mask(const Wave *w) { return pair(w->s[SGPR_EXEC], w->s[SGPR_EXEC + 1]); }
/* The number of `i` in the program; the loop may run a changed copy of an instruction. */
static inline u32 instruction_number(const Wave *w, const Inst *i)
{
    u64 n = ((u64)i - (u64)w->program->code) / sizeof *i;
    return n < w->program->count ? (u32)n : (u32)(w->at - w->program->code);
}

/* IEEE: a signalling NaN wins over numbers in minimum and maximum, and there is no output modifier. */
static inline bool ieee_mode(const Wave *w) { return w->program->generation < GFX12 && w->mode & MODE_IEEE; }
/* What `clamp` makes of a value: from 0 to 1, and no NaN if DX10_CLAMP says so. */
static inline double clamped(const Wave *w, double x)
{
    if (x != x && w->program->generation < GFX12 && !(w->mode & MODE_DX10_CLAMP))
        return x;
    return x > 0 ? (x < 1 ? x : 1) : 0;
}

static inline bool lane_active(const Wave *w, u32 lane) { return exec_mask(w) >> lane & 1; }

static inline u64 scalar_pair(const Wave *w, u32 at) { return pair(w->s[at], w->s[at + 1]); }
static inline void put_scalar_pair(Wave *w, u32 at, u64 x)
{
    w->s[at] = (u32)x;
    w->s[at + 1] = (u32)(x >> 32);
}

/* A bit per lane: in one SGPR for a wave of 32, in two for a wave of 64. */
static inline u64 lane_bits(const Wave *w, u32 at) { return w->wave32 ? w->s[at] : scalar_pair(w, at); }
static inline void put_lane_bits(Wave *w, u32 at, u64 x)
{
    w->s[at] = (u32)x;
    if (!w->wave32)
        w->s[at + 1] = (u32)(x >> 32);
}

static inline u32 special_scalar(const Wave *w, u32 operand)
{
    if (operand == SOURCE_SCC)
        return w->scc;
    return operand == SOURCE_VCCZ ? lane_bits(w, SGPR_VCC) == 0 : exec_mask(w) == 0;
}
static inline u32 scalar32(const Wave *w, const Inst *i, int k)
{
    u32 at = i->source[k];
    if (likely(at < SCALAR_FILE))
        return w->s[at];
    return at == SOURCE_CONSTANT ? (u32)i->constant[k] : special_scalar(w, at);
}
static inline u64 scalar64(const Wave *w, const Inst *i, int k)
{
    u32 at = i->source[k];
    if (likely(at < SCALAR_FILE))
        return scalar_pair(w, at);
    return at == SOURCE_CONSTANT ? i->constant[k] : special_scalar(w, at);
}

static inline u64 mask_source(const Wave *w, const Inst *i, int k)
{
    return likely(i->source[k] < SCALAR_FILE) ? lane_bits(w, i->source[k]) : scalar64(w, i, k);
}
static inline u32 wave_lanes(const Wave *w) { return w->wave32 ? 32 : 64; }

#endif
