#include "hip/work/work.h"

#include "hip/launch/kernarg.h"

#include <stdlib.h>
#include <string.h>

/* {HIP_LAUNCH_PARAM_BUFFER_POINTER, p, HIP_LAUNCH_PARAM_BUFFER_SIZE, &n, HIP_LAUNCH_PARAM_END}, and the buffer. */
typedef struct {
    void *list[5];
    size_t bytes;
    u8 buffer[];
} KeptExtra;

static hipError_t keep_extra(KernelWork *k)
{
    const void *buffer;
    size_t bytes;
    if (!kernarg_read_extra(k->extra, &buffer, &bytes))
        return hipErrorInvalidValue;
    KeptExtra *kept = malloc(sizeof *kept + bytes);
    if (!kept)
        return hipErrorOutOfMemory;
    memcpy(kept->buffer, buffer, bytes);
    kept->bytes = bytes;
    void *list[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, kept->buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &kept->bytes,
                    HIP_LAUNCH_PARAM_END};
    memcpy(kept->list, list, sizeof list);
    k->kept = kept;
    k->extra = kept->list;
    return hipSuccess;
}

/* The pointers, then the values, each at a multiple of 16 bytes. */
static hipError_t keep_parameters(KernelWork *k)
{
    const KernelMetadata *m = k->function->kernel;
    size_t count = 0, bytes = 0, n = 0, at = 0;
    for (u32 i = 0; i < m->argument_count; i++)
        if (m->arguments[i].kind == ARGUMENT_EXPLICIT) {
            count++;
            bytes += (m->arguments[i].bytes + 15ull) & ~15ull;
        }
    size_t head = (count * sizeof(void *) + 15) & ~15ull;
    u8 *kept = malloc(head + bytes + 1);
    if (!kept)
        return hipErrorOutOfMemory;
    void **pointers = (void **)(void *)kept;
    for (u32 i = 0; i < m->argument_count; i++) {
        if (m->arguments[i].kind != ARGUMENT_EXPLICIT)
            continue;
        if (!k->parameters || !k->parameters[n]) {
            free(kept);
            return hipErrorInvalidValue;
        }
        pointers[n] = kept + head + at;
        memcpy(pointers[n], k->parameters[n], m->arguments[i].bytes);
        at += (m->arguments[i].bytes + 15ull) & ~15ull;
        n++;
    }
    k->kept = kept;
    k->parameters = pointers;
    return hipSuccess;
}

static hipError_t keep_values(ValuesWork *v)
{
    hipStreamBatchMemOpParams *kept = malloc(v->count * sizeof *kept);
    if (!kept)
        return hipErrorOutOfMemory;
    memcpy(kept, v->list, v->count * sizeof *kept);
    v->list = kept;
    return hipSuccess;
}

hipError_t work_keep(const Work *w, Work *out)
{
    *out = *w;
    if (w->kind == WORK_VALUES)
        return keep_values(&out->values);
    if (w->kind != WORK_KERNEL)
        return hipSuccess;
    out->kernel.kept = NULL;
    return w->kernel.extra ? keep_extra(&out->kernel) : keep_parameters(&out->kernel);
}

void work_drop(Work *w)
{
    if (w->kind == WORK_KERNEL)
        free(w->kernel.kept);
    if (w->kind == WORK_VALUES)
        free((void *)(uintptr_t)w->values.list);
    *w = (Work){.kind = WORK_EMPTY};
}
