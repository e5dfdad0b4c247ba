/* What the compiler says about the kernels of a code object. */
#ifndef AMDKERNEL_HIP_METADATA_H
#define AMDKERNEL_HIP_METADATA_H

#include "hip/runtime/hip.h"

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
    ARGUMENT_ZERO, /* hidden, and not supported here: offsets, device enqueue, … */
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
    char target[64]; /* what the compiler wrote, which the runtime does not ask; "" is common */
    KernelMetadata *kernels;
    u32 kernel_count;
    char **printf_formats; /* "0:0:HASH,FORMAT", of kernels whose printf writes to a buffer */
    u32 printf_format_count;
} Metadata;

/* Adds what the msgpack of a note 32 says: keys that are not known are skipped. NULL, or why AMD's runtime refuses it. */
const char *metadata_read(const u8 *note, size_t bytes, Metadata *out);
void metadata_free(Metadata *m);

#endif
