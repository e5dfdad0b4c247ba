/* A code object: an ELF file of one architecture, placed in device memory, and what is known of its kernels. */
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
    u64 base;   /* added to the file's virtual addresses */
    Metadata metadata;
    Symbol *symbols;
    u32 symbol_count;
    Symbol *variables; /* of all symbol tables, also local ones; unordered */
    u32 variable_count;
    u64 text, text_bytes; /* in device memory */
    Program *program[2];  /* all of the text, for waves of 64 and of 32 lanes; NULL until a launch needs it */
    u8 *file; /* as it was loaded, if reports need it; NULL once it is written */
    u64 file_bytes;
    u32 number; /* 1 for the first that was kept; 0: not kept */
} CodeObject;

/* `file` is an ELF file or a bundle with one for the device's architecture. Pass SIZE_MAX for `bytes` when HIP does not
 * give the size. hipErrorInvalidImage, hipErrorNoBinaryForGpu,
 * hipErrorSharedObjectSymbolNotFound, hipErrorOutOfMemory; the reason is in `why`, a sentence. */
hipError_t code_object_load(const void *file, size_t bytes, CodeObject **out, char *why, size_t why_bytes);
void code_object_unload(CodeObject *c);

const Symbol *code_object_symbol(const CodeObject *c, const char *name);
/* The variable at `address`, or the last one before it, among those in `bytes` from `start`; NULL: none. */
const Symbol *code_object_variable(const CodeObject *c, u64 address, u64 start, u64 bytes);
/* The end of the code that begins at `address`: the next symbol of code, or the end of the text. */
u64 code_object_text_after(const CodeObject *c, u64 address);
const KernelMetadata *code_object_kernel(const CodeObject *c, const char *name);

#endif
