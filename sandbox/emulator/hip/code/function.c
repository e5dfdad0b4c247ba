/* Kernels of code objects, as launches and hipFunction_t see them. */
#include "hip/code/function.h"

#include "hip/runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

static Function *functions; /* every one of modules and of fat binaries */

/* The 64 bytes of a kernel descriptor. Source: LLVM AMDGPUUsage, "Kernel Descriptor". */
static bool read_descriptor(const CodeObject *c, const Symbol *s, KernelCode *out)
{
    u8 raw[64];
    i64 entry;
    u16 properties, preload;
    if (s->bytes < sizeof raw)
        return false;
    memcpy(raw, (const void *)(uintptr_t)s->address, sizeof raw);
    memset(out, 0, sizeof *out);
    memcpy(&out->lds_bytes, raw, 4);
    memcpy(&out->scratch_bytes, raw + 4, 4);
    memcpy(&entry, raw + 16, 8);
    memcpy(&out->rsrc3, raw + 44, 4);
    memcpy(&out->rsrc1, raw + 48, 4);
    memcpy(&out->rsrc2, raw + 52, 4);
    memcpy(&properties, raw + 56, 2);
    memcpy(&preload, raw + 58, 2);
    out->entry = s->address + (u64)entry;
    out->properties = properties;
    out->kernarg_preload = preload;
    return out->entry - c->text < c->text_bytes;
}

hipError_t function_make(CodeObject *object, const char *name, Function **out)
{
    const KernelMetadata *kernel = code_object_kernel(object, name);
    const Symbol *symbol = kernel ? code_object_symbol(object, kernel->symbol) : NULL;
    KernelCode code;
    if (!symbol)
        return hipErrorNotFound;
    if (!read_descriptor(object, symbol, &code))
        return hipErrorInvalidImage;
    *out = malloc(sizeof **out);
    if (!*out)
        return hipErrorOutOfMemory;
    **out = (Function){.object = object, .kernel = kernel, .code = code};
    runtime_lock();
    (*out)->next = functions;
    functions = *out;
    runtime_unlock();
    return hipSuccess;
}

void function_end(Function *f)
{
    runtime_lock();
    Function **link = &functions;
    while (*link && *link != f)
        link = &(*link)->next;
    if (*link)
        *link = f->next;
    runtime_unlock();
    program_destroy(f->program);
    free(f);
}

bool function_exists(const void *pointer)
{
    runtime_lock();
    const Function *f = functions;
    while (f && f != pointer)
        f = f->next;
    runtime_unlock();
    return f != NULL;
}
