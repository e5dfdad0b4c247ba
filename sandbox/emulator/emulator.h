/*
 * The public interface of the interpreter: the HIP front end (hip/) calls only what is declared here.
 *
 * Device memory is one arena of host memory, and a device address is the host address: a copy is a memcpy.
 * Nothing outside the arena can be reached by emulated code.
 */
#ifndef AMDKERNEL_EMULATOR_H
#define AMDKERNEL_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/counter_names.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

/* ---- memory/arena.c, memory/unset.c ---- */

typedef struct Memory Memory;

/* layout_seed: draws the first address and the gaps; 0: the same in every process. */
Memory *memory_create(u64 arena_bytes, u64 layout_seed);
void memory_destroy(Memory *m);

/* 0 when the arena is full. Blocks are 256-byte aligned and lie in unmapped-like gaps of at least 4 KiB. */
u64 memory_allocate(Memory *m, u64 bytes);
/* The same where hardware maps `granule` bytes at once, a power of two: what kernels touch beyond the block and within
 * what is mapped with it is a finding, not a fault. Above a page, the page before it is mapped as well. Nothing else
 * lies there. */
u64 memory_allocate_mapped(Memory *m, u64 bytes, u64 granule);
bool memory_release(Memory *m, u64 address);

/* Let kernels touch memory of the host that lies outside the arena; memory_release ends that and leaves it as it is.
 * False when part of it can be touched already. */
bool memory_adopt(Memory *m, u64 address, u64 bytes);

/* Whether the range may be touched as an overrun, which reaches `off` bytes beyond its block. */
bool memory_mapped(Memory *m, u64 address, u64 bytes, bool store, u64 *off);

/* Narrow a block to the part that kernels may touch, and name it for reports. A block can hold several regions;
 * a block without regions may be touched everywhere. */
bool memory_describe(Memory *m, u64 address, u64 bytes, const char *name, bool writable);

/* Marks the region that begins at `address` as an input: a store of a kernel to it is a finding, where memory is checked. */
bool memory_is_input(Memory *m, u64 address);

/* Tracks from here on which bytes nothing has written. New blocks count as written until memory_set_unset() says otherwise;
 * stores of kernels set bytes. False: no address space. */
bool memory_track_unset(Memory *m);
void memory_set_unset(Memory *m, u64 address, u64 bytes, bool unset);
void memory_copy_unset(Memory *m, u64 to, u64 from, u64 bytes);
/* Likewise for the bits of one byte; memory_unset_bits() applies to a byte that memory_unset() reports. */
void memory_set_unset_bits(Memory *m, u64 address, u8 bits);
u8 memory_unset_bits(Memory *m, u64 address);
/* A bit for each of at most 64 bytes. */
u64 memory_unset(const Memory *m, u64 address, u32 bytes);
/* False: no byte of the range. True: a byte of the range, or one less than eight bytes away from it. */
bool memory_any_unset(const Memory *m, u64 address, u64 bytes);

/* memory/touched.c: tracks from here on which bytes kernels load, and which they store. */
bool memory_track_touched(Memory *m);
void memory_touch(Memory *m, u64 address, u64 bytes, bool store);
/* `bytes` at the address of each active lane. */
void memory_touch_lanes(Memory *m, const u64 *address, u64 active, u32 bytes, bool store);
bool memory_all_touched(const Memory *m, u64 address, u64 bytes, bool store);
void memory_forget_touched(Memory *m);
/* How many bytes no kernel has loaded, or stored, and the offset of the first. False: not tracked. */
bool memory_untouched(const Memory *m, u64 address, u64 bytes, bool store, u64 *count, u64 *first);

/* memory/earlier_runs.c: what an earlier run of launches left in static memory. Without a first call of
 * memory_begin_run() nothing is known of runs. */
void memory_begin_run(Memory *m);
void memory_watch_variables(Memory *m, u64 address, u64 bytes);
/* Those that begin in the range are released. The caller has the lock of the memory. */
void memory_forget_variables(Memory *m, u64 address, u64 bytes);
bool memory_any_variables(const Memory *m);
bool memory_has_variables(const Memory *m, u64 low, u64 high);
/* Before the store. */
void memory_stores_variable(Memory *m, u64 address, u32 bytes);
/* A byte is what an earlier run stored, and not what it was at first. */
bool memory_from_earlier_run(const Memory *m, u64 address, u32 bytes);

void memory_arena(const Memory *m, u64 *address, u64 *bytes);

/* Between these two calls kernels may run while the memory is changed. */
void memory_enter(Memory *m);
void memory_leave(Memory *m);

/* The block that holds `address`, or the nearest one. `number` counts allocations. */
typedef struct { u64 address, bytes; const char *name; bool live; u32 number; } Block;
bool memory_nearest(Memory *m, u64 address, Block *out);
bool memory_in_block(Memory *m, u64 address, u64 bytes);

/* ---- decode/decode.c ---- */

typedef struct Program Program; /* a decoded .text section, or one kernel's part of it */

/* Decode `bytes` of machine code that lie at device address `address`. `arch` is "gfx942" and the like, `wave_size` 32
 * or 64, on which the meaning of the code depends (masks of lanes take one register or two); 0: the size that hipcc chooses
 * for the architecture.
 * NULL and a sentence in `error` when the architecture is not emulated or no disassembler can be loaded.
 * An unknown instruction is an error only when it is executed (OUTCOME_NOT_EMULATED). */
Program *program_decode(const char *arch, u32 wave_size, u64 address, u64 bytes, char *error, size_t error_bytes);
/* The same for one kernel's code, from `address` on, in a section of the device addresses text..text_end-1. NULL, and
 * nothing in `error`, when the kernel calls or branches out of its own code. A computed jump to other code of the section
 * is not emulated. */
Program *program_decode_kernel(const char *arch, u32 wave_size, u64 text, u64 text_end, u64 address, u64 bytes, char *error,
                               size_t error_bytes);
void program_destroy(Program *p);

/* ---- model/caches.c: modelled caches that outlive a dispatch ---- */

typedef struct Caches Caches;
typedef struct Overlap Overlap;

/* NULL for an architecture whose caches are not modelled. */
Caches *caches_create(const char *arch);
void caches_destroy(Caches *c);

/* ---- run/dispatch.c ---- */

typedef struct {
    u64 entry;            /* device address of the first instruction */
    u32 lds_bytes;        /* static */
    u32 scratch_bytes;    /* per work-item */
    u32 rsrc1, rsrc2, rsrc3;
    u32 properties;       /* kernel_code_properties: which user SGPRs are set up; LLVM AMDGPUUsage, "Kernel Descriptor" */
    u32 kernarg_preload;  /* length and offset, in dwords */
} KernelCode;

typedef struct {
    const Program *program;
    KernelCode kernel;
    u32 workgroups[3];
    u32 block[3];
    u32 grid[3];          /* work-items; the last workgroup of a dimension may be partial */
    u32 dynamic_lds_bytes;
    u64 kernarg;          /* device address */
    u32 kernarg_bytes;    /* that the kernel may read there; 0: not known */
    u32 explicit_bytes;   /* of these its own arguments, before the hidden ones; 0: not known */
    u64 dispatch_packet;  /* device address of a 64-byte AQL packet that the front end filled */
    u64 record_bytes;     /* of the launch's own memory from the packet on, which no kernel may store to; 0: not known */
    u64 dispatch_id;      /* the packet's number in its queue: launches before this one, as no other packets are counted */
    u64 grid_sync;        /* in it, for the barrier of the grid, 48 bytes that kernels may store to; 0: none */
    u64 leftovers;        /* seed of what registers hold when a wave begins */
    u64 queue;            /* device address or 0 */
    bool cooperative;     /* all workgroups are resident, and may wait for each other at a barrier of the grid */
    u64 step_limit;       /* wave-instructions of the whole dispatch; 0: none */
    double end_at;        /* when the process will be ended, in seconds of CLOCK_MONOTONIC; 0: not known */
    u64 clock;            /* what the clocks of the device start from */
    void (*interrupt)(void *context); /* s_sendmsg of an interrupt; called by several threads; or NULL */
    void *interrupt_context;
    u32 threads;          /* 0: one per core */
    bool deterministic;   /* one thread, fixed order */
    bool reproducible;    /* one thread where workgroups may learn from each other: the outcome is the same each time */
    bool limit_residency; /* no more workgroups at once than the GPU holds, unless a seed shuffles them */
    bool proves_hangs;    /* nothing but the dispatch changes its memory: one that can never end is ended at once */
    u64 schedule_seed;    /* not 0: one thread, and an order of workgroups and waves of its own for each seed */
    bool count_memory;    /* also model cache-line requests and LDS bank conflicts: slower */
    bool count_pcs;       /* also count per instruction */
    bool list_ran;        /* report which instructions ran */
    Caches *caches;       /* count_memory: what earlier dispatches left in them; NULL: nothing did */
    bool check_memory;    /* look for uses of unset memory, stores to inputs, misaligned scalar loads */
    bool check_races;     /* and for races: one thread */
    u64 races_every;      /* in one of so many workgroups, see checks/races/sample.h; 0 or 1: in all */
    u64 races_seed;       /* chooses these workgroups */
    bool last_waves_first; /* usually, unless a seed decides: finds races with what the first wave prepares */
    u64 heap, heap_bytes; /* whose blocks kernels allocate themselves: not checked for races */
    Overlap *overlap;     /* check_races: what other dispatches touched, and the place of this one among them; or NULL */
    struct Turn *turn;
    u64 code_base;        /* places in the code are offsets from here */
    u64 part_above;       /* requests to the L2s of a sampled dispatch: above, a part of the sets stands for all; 0: the usual number */
    u64 sample_above;     /* wave-instructions: of a larger dispatch whose workgroups are alike only a sample runs; 0: all run */
    bool interpreted;     /* do not use the host code that decoding made */
    bool overruns;        /* LDS as hardware allocates it; accesses beyond it are dropped: findings instead of faults */
} Dispatch;

typedef enum {
    OUTCOME_OK,
    OUTCOME_OUT_OF_BOUNDS,
    OUTCOME_MISALIGNED,
    OUTCOME_NOT_EMULATED,
    OUTCOME_STEP_LIMIT,
    OUTCOME_DEADLOCK,     /* some waves wait at a barrier that others have left */
    OUTCOME_RESIDENCY,    /* all workgroups that fit at once wait for one that has not begun */
    OUTCOME_TRAP,
    OUTCOME_BAD_PC,
    OUTCOME_READ_ONLY,    /* a store to a region described as not writable */
    OUTCOME_USE_AFTER_FREE,
    /* The following are findings: the dispatch continues. */
    OUTCOME_UNINITIALISED_READ,
    OUTCOME_INPUT_MODIFIED,
    OUTCOME_RACE,
    OUTCOME_STATE_BETWEEN_LAUNCHES,  /* a load from static memory that brings what an earlier run stored */
    OUTCOME_MISSING_WAIT, /* a register is used before its load has returned, or LDS before a store has landed */
} OutcomeKind;

typedef enum { SPACE_GLOBAL, SPACE_LDS, SPACE_SCRATCH, SPACE_SCALAR, SPACE_REGISTER } AddressSpace;

enum { CALLERS = 4 };

typedef struct {
    OutcomeKind kind;
    u64 pc;               /* device address of the instruction */
    u64 callers[CALLERS]; /* of the calls that led there, innermost first, the last one the kernel's own; 0: no more */
    u32 workgroup[3];
    u32 wave;             /* within the workgroup */
    u32 lane;
    AddressSpace space;
    u64 address;          /* that was touched; in LDS and scratch an offset */
    u32 bytes;
    bool store;
    char instruction[96]; /* disassembly */
} Fault;

/* What an instruction did: `lanes` were active in its `executions`, and requested `bytes` from any memory. In lines of 128
 * bytes where they were found; cycles as SQ_LDS_IDX_ACTIVE and its conflicts. */
typedef struct {
    u64 address, executions, lanes, bytes, divergent;
    u64 lines, l1_hits, l2_hits, l2_misses, lds_cycles, lds_conflicts;
    u64 lines_stored; /* of `lines`, by stores and atomics */
} PcCounts;

/* The other access of a race. */
typedef struct {
    u64 pc, caller;       /* of the kernel's own call that led there; 0: none */
    u32 workgroup[3];
    u32 wave, lane;
    bool load, store;     /* both: a read-modify-write */
    bool atomic;          /* or volatile */
    const void *work;     /* of other work: its label (overlap.h), to which `pc` adds the place in its code; else NULL */
} Partner;

typedef struct {
    Fault fault;          /* the first of its kind at this instruction */
    Partner partner;      /* races only */
    u64 use;              /* of what was loaded, or stored to LDS: the instruction that depends on it; 0: not known */
    u64 use_callers[CALLERS];
    u64 count;            /* how many times it was reported: 1 while it is new */
    u64 times;            /* how many times a wave executed an instruction that did it, with however many lanes */
    u64 lanes;            /* of accesses beyond a block: of all these waves; else 0 */
    u64 off;              /* of accesses beyond a block: the most bytes that one of them reached beyond it */
    char registers[16];   /* missing waits only: what was used too early, "v[2:3]"; empty: what was stored to LDS */
    char remedy[32];      /* and the instruction that waits for it */
} Finding;

enum { MAX_FINDINGS = 64, MAX_STANDING = 64 };

/* Where waves were when a limit stopped the dispatch: one of them, and how many were there. */
typedef struct {
    u64 pc, callers[CALLERS];
    u32 workgroup[3];
    u32 wave;
    bool at_barrier;
    u64 waves;
    u64 takes;            /* by which instruction it takes, for ever, a value of a lane that is not active; 0: none */
} Standing;

/* Instructions that follow each other, and that a wave ran; `idle`: no lane was active in any of these runs. */
typedef struct {
    u64 first, last;      /* addresses of instructions, both of them ran */
    bool idle;
} RanSpan;

typedef struct {
    Fault fault;          /* kind OUTCOME_OK: the dispatch ran to its end */
    Standing standing[MAX_STANDING]; /* where the fault is a limit */
    u32 standing_count;
    bool process_ends;    /* its limit was Dispatch.end_at */
    bool standstill;      /* the fault is not a limit that was reached: nothing could ever change again */
    u64 started, fit;     /* of a limit: workgroups that had begun, and that the GPU holds at once (0: not limited) */
    const char *fit_by;   /* what bounds that: "lds", "vgprs" or "wave_slots" */
    u64 counters[COUNTER_COUNT];
    bool memory_counted;  /* else those of MEMORY_COUNTERS are not known */
    PcCounts *pcs;        /* count_pcs: one per instruction of the program, to be freed by the caller */
    u64 pc_count;
    RanSpan *ran;         /* list_ran: by address, to be freed by the caller */
    u64 ran_count;
    u64 clock;            /* the value of the device's clocks */
    Finding *findings;    /* to be freed by the caller */
    u32 finding_count;
    bool races_in_part;   /* too much memory was touched to follow all of it */
    u64 race_groups;      /* workgroups in which races were looked for */
    bool race_own_group;  /* and only among the waves of each */
    u64 sampled;          /* of a dispatch that was sampled: the workgroups that ran; 0: all ran */
    double sample_error[COUNTER_COUNT]; /* of each counter, as a part of it: half of a 95 % interval */
    char not_sampled[120]; /* why all workgroups ran though the dispatch is large; empty: it is not */
    double seconds;       /* host wall time of the emulation: says nothing about a GPU */
} Outcome;

/* 32 or 64, as the descriptor says. */
u32 kernel_wave_size(const KernelCode *k);

/* A dispatch runs in steps. dispatch_begin() prepares it (NULL: no memory). dispatch_continue() runs it for that many
 * seconds or, below 0, to its end, and returns true when it has ended; any thread may call it. dispatch_end() reports the
 * outcome. The result does not depend on the number of steps. */
typedef struct DispatchRun DispatchRun;
DispatchRun *dispatch_begin(Memory *m, const Dispatch *d);
bool dispatch_continue(DispatchRun *r, double patience_s);
const Dispatch *dispatch_of_run(const DispatchRun *r);
void dispatch_end(DispatchRun *r, Outcome *out);

const char *outcome_name(OutcomeKind kind);
const char *counter_name(int counter);

#endif
