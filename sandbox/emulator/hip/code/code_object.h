/* A code object: an ELF file of one architecture, placed in device memory, with what its kernels want. */
#ifndef AMDKERNEL_HIP_CODE_OBJECT_H
#define AMDKERNEL_HIP_CODE_OBJECT_H

#include "hip/code/bundle.h"
#include "hip/code/metadata.h"

typedef struct {
    char *name;
    u64 address, bytes; /* in device memory */
    bool is_variable;
} Symbol;

typedef struct {
    u64 block;  /* of the arena */
    u64 base;   /* what is added to the file's virtual addresses */
    Metadata metadata;
    Symbol *symbols;
    u32 symbol_count;
    Symbol *variables; /* with those of one file that the dynamic symbols leave out; in no order */
    u32 variable_count;
    u64 text, text_bytes; /* in device memory */
    Program *program[2];  /* all of the text, for waves of 64 and of 32 lanes; NULL until a launch needs it */
    u8 *file; /* as it was loaded, where reports want it; NULL once it was written, or not wanted */
    u64 file_bytes;
    u32 number; /* 1 for the first that was kept; 0: not kept */
} CodeObject;

/* `file` is an ELF file or a bundle of them, of which the one for the device's architecture is taken. Pass SIZE_MAX for
 * `bytes` when HIP does not tell the size. hipErrorInvalidImage, hipErrorNoBinaryForGpu,
 * hipErrorSharedObjectSymbolNotFound, hipErrorOutOfMemory; the reason is in `why`, a sentence. */
hipError_t code_object_load(const void *file, size_t bytes, CodeObject **out, char *why, size_t why_bytes);
void code_object_unload(CodeObject *c);

const Symbol *code_object_symbol(const CodeObject *c, const char *name);
/* The variable at `address`, or the last one before it, of those in so many bytes from `start`; NULL: none. */
const Symbol *code_object_variable(const CodeObject *c, u64 address, u64 start, u64 bytes);
/* Where the code that begins at `address`, within the text, ends: at the next symbol of code, or with the text. */
u64 code_object_text_after(const CodeObject *c, u64 address);
const KernelMetadata *code_object_kernel(const CodeObject *c, const char *name);

#endif
