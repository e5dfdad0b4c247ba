/* What the model of a unit needs to know of an instruction: its pipe, its clocks, its registers and what it waits for. */
#ifndef AMDKERNEL_TIMING_CODE_H
#define AMDKERNEL_TIMING_CODE_H

#include "timing/rates.h"

typedef enum {
    PIPE_VECTOR, PIPE_TRANSCENDENTAL, PIPE_MATRIX, PIPE_SCALAR, PIPE_SCALAR_LOAD, PIPE_LDS, PIPE_LOAD, PIPE_STORE, PIPE_BRANCH,
    PIPE_BARRIER, PIPE_WAIT, PIPE_NONE, PIPE_END, PIPES,
} Pipe;

/* Numbers of registers in the order of the model: vector registers, accumulators, scalars, and special ones. */
enum { REG_V = 0, REG_A = 256, REG_S = 512, REG_VCC = 640, REG_EXEC, REG_SCC, REG_M0, REGS };
enum { MOST_SOURCES = 12, MOST_RESULTS = 5, MOST_LOADS = 64 };

typedef struct { u16 first, count; } Range;

typedef struct {
    u8 pipe, sources, results;
    bool packed;         /* of f32 pairs */
    bool writes_lds;     /* LDS: a store or an atomic */
    bool to_lds;         /* a load from memory past the registers */
    u16 clocks;          /* of its pipe */
    u16 full;            /* matrix: the same in the shape that reaches the peak of its type */
    u8 load;             /* a load's number in the program, from 1; 0: none, or too many */
    u16 result;          /* clocks until the result can be read */
    u16 hold;            /* matrix: clocks until vector instructions may follow */
    u16 bytes;           /* of a lane, in memory or LDS */
    i32 vm, lgkm, stores; /* a wait's: at most so many outstanding; -1: any */
    Range source[MOST_SOURCES], to[MOST_RESULTS];
} Op;

/* Of instruction `inst` of the program. */
Op code_read(const Program *p, u32 inst, const Rates *r);

#endif
