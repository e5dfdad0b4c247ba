/* LLVM's AMDGPU disassembler, loaded at run time: the same version as the compiler in the image. */
#ifndef AMDKERNEL_DISASSEMBLER_H
#define AMDKERNEL_DISASSEMBLER_H

#include "emulator.h"

typedef struct Disassembler Disassembler;

/* NULL and a sentence in `error` when no libLLVM is found or it does not know `arch`. */
Disassembler *disassembler_open(const char *arch, u32 wave_size, char *error, size_t error_bytes);
void disassembler_close(Disassembler *d);

/* The size of the instruction at `code` in bytes, and its text; 0 when these bytes are not an instruction. */
size_t disassembler_read(Disassembler *d, u8 *code, u64 bytes, u64 address, char *text, size_t text_bytes);

#endif
