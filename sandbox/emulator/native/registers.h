/*
 * Which rows of the wave lie in the host's vector registers, while code for 16 of its lanes is made. A result gets a
 * register of its own, which then stands for its row; the row in memory is written when the register is needed for
 * another, or at the end.
 */
#ifndef AMDKERNEL_NATIVE_REGISTERS_H
#define AMDKERNEL_NATIVE_REGISTERS_H

#include "native/x86.h"

enum { HOST_REGISTERS = 32, CHUNK_LANES = 16, NO_REGISTER = 0xff };

typedef struct {
    Code *code;
    u32 chunk;                       /* lanes 16 * chunk to 16 * chunk + 15 */
    u8 holder[VECTOR_REGISTERS];     /* the register that stands for a row, or NO_REGISTER */
    u16 row[HOST_REGISTERS];         /* what a register that is not free stands for */
    u32 used_at[HOST_REGISTERS];
    u32 free, changed, kept;         /* a bit per register: stands for no row; memory is behind; needed just now */
    u32 clock;
} Rows;

void rows_start(Rows *r, Code *code, u32 chunk);
/* Registers that were handed out may be taken again from here on. */
void rows_next(Rows *r);
/* A register for a value that is on its way. */
u8 rows_fresh(Rows *r);
/* The register that stands for a row. */
u8 rows_read(Rows *r, u32 row);
/* From here on `reg` stands for the row. */
void rows_bind(Rows *r, u32 row, u8 reg);
void rows_end(Rows *r);

#endif
