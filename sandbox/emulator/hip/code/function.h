/* A kernel that can be launched. */
#ifndef AMDKERNEL_HIP_FUNCTION_H
#define AMDKERNEL_HIP_FUNCTION_H

#include "hip/code/code_object.h"

typedef struct Function {
    CodeObject *object;
    const KernelMetadata *kernel;
    KernelCode code;
    Program *program; /* its own part of the object's code; NULL before the first launch, or if the part is not enough */
    struct Function *next;
} Function;

/* hipErrorNotFound when the code object has no such kernel; hipErrorInvalidImage when its descriptor is outside it. */
hipError_t function_make(CodeObject *object, const char *name, Function **out);
void function_end(Function *f);
/* Whether a pointer is a hipFunction_t. */
bool function_exists(const void *pointer);

#endif
