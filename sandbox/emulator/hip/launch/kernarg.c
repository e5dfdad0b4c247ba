/*
 * The kernel's argument segment: the program's values, and the hidden arguments that the compiler adds.
 * Source: LLVM AMDGPUUsage, "Code Object V5 Kernel Argument Metadata" (hidden arguments).
 */
#include "hip/launch/kernarg.h"

#include <string.h>

/* {HIP_LAUNCH_PARAM_BUFFER_POINTER, p, HIP_LAUNCH_PARAM_BUFFER_SIZE, &n, HIP_LAUNCH_PARAM_END} */
bool kernarg_read_extra(void **extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (int i = 0; i < 8 && extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[i + 1];
        else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
            *bytes = *(const size_t *)extra[i + 1];
        else
            return false;
    }
    return *buffer != NULL;
}

static u32 grid_dimensions(const LaunchShape *s)
{
    return s->grid[2] > 1 ? 3 : s->grid[1] > 1 ? 2 : 1;
}

static u64 hidden_value(ArgumentKind kind, const LaunchShape *s, const HiddenBlocks *blocks)
{
    switch (kind) {
    case ARGUMENT_BLOCK_COUNT_X: case ARGUMENT_BLOCK_COUNT_Y: case ARGUMENT_BLOCK_COUNT_Z: {
        int d = kind - ARGUMENT_BLOCK_COUNT_X; /* whole workgroups: the remainder describes the partial one */
        return s->grid[d] / s->block[d];
    }
    case ARGUMENT_GROUP_SIZE_X: case ARGUMENT_GROUP_SIZE_Y: case ARGUMENT_GROUP_SIZE_Z:
        return s->block[kind - ARGUMENT_GROUP_SIZE_X];
    case ARGUMENT_REMAINDER_X: case ARGUMENT_REMAINDER_Y: case ARGUMENT_REMAINDER_Z: {
        int d = kind - ARGUMENT_REMAINDER_X;
        return s->grid[d] % s->block[d];
    }
    case ARGUMENT_GRID_DIMS: return grid_dimensions(s);
    case ARGUMENT_DYNAMIC_LDS_SIZE: return s->dynamic_lds_bytes;
    case ARGUMENT_HOSTCALL: return blocks->hostcall;
    case ARGUMENT_PRINTF: return blocks->printf;
    case ARGUMENT_HEAP: return blocks->heap;
    case ARGUMENT_MULTIGRID: return blocks->multigrid;
    default: return 0;
    }
}

/* A buffer may be too short, as in AMD's runtime: libraries leave out what the kernel will not use. */
static void copy_packed(u8 *out, const u8 *packed, u64 packed_bytes, const KernelArgument *a)
{
    u64 there = packed_bytes > a->offset ? packed_bytes - a->offset : 0;
    if (there)
        memcpy(out + a->offset, packed + a->offset, a->bytes < there ? a->bytes : there);
}

hipError_t kernarg_fill(u8 *out, const KernelMetadata *k, const LaunchShape *shape, void **parameters, void **extra,
                        const HiddenBlocks *hidden)
{
    const void *packed = NULL;
    size_t packed_bytes = 0;
    if (extra && !kernarg_read_extra(extra, &packed, &packed_bytes))
        return hipErrorInvalidValue;
    memset(out, 0, k->kernarg_bytes);
    u32 parameter = 0;
    for (u32 i = 0; i < k->argument_count; i++) {
        const KernelArgument *a = &k->arguments[i];
        if (a->offset > k->kernarg_bytes || a->bytes > k->kernarg_bytes - a->offset)
            return hipErrorInvalidImage;
        if (a->kind != ARGUMENT_EXPLICIT) {
            u64 value = hidden_value(a->kind, shape, hidden);
            memcpy(out + a->offset, &value, a->bytes < sizeof value ? a->bytes : sizeof value);
        } else if (extra) {
            if (!packed_bytes)
                return hipErrorInvalidValue;
            copy_packed(out, packed, packed_bytes, a);
        } else {
            if (!parameters || !parameters[parameter])
                return hipErrorInvalidValue;
            memcpy(out + a->offset, parameters[parameter++], a->bytes);
        }
    }
    return hipSuccess;
}
