/* Kernels that can be launched, and launching them. */
#ifndef AMDKERNEL_HIP_LAUNCH_H
#define AMDKERNEL_HIP_LAUNCH_H

#include "code_object.h"

typedef struct Function {
    CodeObject *object;
    const KernelMetadata *kernel;
    KernelCode code;
} Function;

typedef struct {
    u32 grid[3]; /* work-items */
    u32 block[3];
    u32 dynamic_lds_bytes;
} LaunchShape;

/* module.c: hipErrorNotFound when the code object has no such kernel, or a descriptor that lies outside it. */
hipError_t function_make(CodeObject *object, const char *name, Function **out);

/* register.c: the function behind the address of a host stub, or NULL. */
Function *registered_function(const void *host_function, hipError_t *error);

/* launch.c: `parameters` are pointers to the values, or `extra` is a buffer of them; one of the two is NULL.
 * A fault of the kernel is not in the answer: it is latched in the runtime. */
hipError_t launch(Function *f, const LaunchShape *shape, void **parameters, void **extra);
/* The same where the grid is given in workgroups. */
hipError_t launch_blocks(Function *f, dim3 blocks, dim3 block, size_t dynamic_lds_bytes, void **parameters,
                         void **extra);

/* kernarg.c: what the kernel reads at its kernarg pointer. `bytes` is at least kernarg_bytes. */
hipError_t kernarg_fill(u8 *out, const KernelMetadata *k, const LaunchShape *shape, void **parameters, void **extra);

/* report.c: one JSON line to the report file, or a sentence on stderr for a fault when there is none. */
void report_dispatch(const Function *f, const Dispatch *d, const Outcome *o);

#endif
