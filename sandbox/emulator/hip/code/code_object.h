/* A code object: an ELF file of one architecture, placed in device memory, with what its kernels want. */
#ifndef AMDKERNEL_HIP_CODE_OBJECT_H
#define AMDKERNEL_HIP_CODE_OBJECT_H

#include "hip/runtime/runtime.h"

/* LLVM AMDGPUUsage, "Code Object V3 and later Kernel Argument Metadata": .value_kind */
typedef enum {
    ARGUMENT_EXPLICIT,
    ARGUMENT_BLOCK_COUNT_X, ARGUMENT_BLOCK_COUNT_Y, ARGUMENT_BLOCK_COUNT_Z,
    ARGUMENT_GROUP_SIZE_X, ARGUMENT_GROUP_SIZE_Y, ARGUMENT_GROUP_SIZE_Z,
    ARGUMENT_REMAINDER_X, ARGUMENT_REMAINDER_Y, ARGUMENT_REMAINDER_Z,
    ARGUMENT_GRID_DIMS,
    ARGUMENT_DYNAMIC_LDS_SIZE,
    ARGUMENT_QUEUE,
    ARGUMENT_HOSTCALL, ARGUMENT_PRINTF, ARGUMENT_HEAP, ARGUMENT_MULTIGRID,
    ARGUMENT_ZERO, /* hidden, and nothing that we offer: offsets, device enqueue, … */
} ArgumentKind;

typedef struct {
    ArgumentKind kind;
    u32 offset, bytes;
} KernelArgument;

typedef struct {
    char *name;   /* as the source has it, mangled */
    char *symbol; /* of the descriptor: "NAME.kd" */
    u32 kernarg_bytes, lds_bytes, scratch_bytes;
    u32 max_workgroup; /* launch bounds */
    u32 vgprs, sgprs, agprs, wavefront;
    KernelArgument *arguments;
    u32 argument_count;
} KernelMetadata;

typedef struct {
    char *name;
    u64 address, bytes; /* in device memory */
    bool is_variable;
} Symbol;

typedef struct {
    u64 block;  /* of the arena */
    u64 base;   /* what is added to the file's virtual addresses */
    char arch[16];
    Symbol *symbols;
    u32 symbol_count;
    Symbol *variables; /* with those of one file that the dynamic symbols leave out; in no order */
    u32 variable_count;
    KernelMetadata *kernels;
    u32 kernel_count;
    u64 text, text_bytes; /* in device memory */
    Program *program[2];  /* all of the text, for waves of 64 and of 32 lanes; NULL until a launch needs it */
    char **printf_formats; /* "0:0:HASH,FORMAT", of kernels whose printf writes to a buffer */
    u32 printf_format_count;
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

/* bundle.c: the ELF file for `arch` inside `file`. `*owned` must be freed when it is not NULL. */
hipError_t bundle_find(const u8 *file, size_t bytes, const char *arch, const u8 **elf, size_t *elf_bytes, void **owned,
                       char *why, size_t why_bytes);

/* bundle.c: calls `visit` for every entry of a bundle that begins at `file`; what it gets is gone when it returns. */
bool bundle_each(const u8 *file, u64 bytes, void (*visit)(const u8 *elf, u64 size, void *context), void *context);

/* metadata.c: fills arch, kernels and kernel_count from the msgpack of note 32. false when it is malformed. */
bool metadata_read(const u8 *note, size_t bytes, CodeObject *out);

#endif
