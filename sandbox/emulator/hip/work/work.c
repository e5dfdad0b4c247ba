/* Doing work now, and keeping it for later. */
#include "hip/memory/allocation.h"
#include "hip/devices/device.h"
#include "hip/graphs/graph.h"
#include "hip/streams/stream_order.h"
#include "hip/streams/work.h"

#include <stdlib.h>
#include <string.h>

bool work_value_is_reached(const ValueWork *w)
{
    u64 now = w->bytes == 8 ? __atomic_load_n((const u64 *)w->address, __ATOMIC_ACQUIRE)
                            : __atomic_load_n((const u32 *)w->address, __ATOMIC_ACQUIRE);
    now &= w->mask;
    switch (w->condition) {
    case hipStreamWaitValueGte: return w->bytes == 8 ? (i64)(now - w->value) >= 0 : (i32)((u32)now - (u32)w->value) >= 0;
    case hipStreamWaitValueEq: return now == w->value;
    case hipStreamWaitValueAnd: return (now & w->value) != 0;
    default: return ~(now | w->value) != 0; /* hipStreamWaitValueNor */
    }
}

static hipError_t write_value(const ValueWork *w)
{
    if (w->bytes == 8)
        __atomic_store_n((u64 *)w->address, w->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((u32 *)w->address, (u32)w->value, __ATOMIC_RELEASE);
    return hipSuccess;
}

static hipError_t release_block(void *pointer)
{
    Allocation a;
    if (allocation_find(pointer, &a))
        order_touch("release", pointer, a.bytes, true);
    return allocation_end(pointer) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t work_run(const Work *w, hipStream_t stream)
{
    switch (w->kind) {
    case WORK_EMPTY: case WORK_ALLOCATE: case WORK_RELEASE: case WORK_WAIT: case WORK_RECORD: case WORK_WAIT_VALUE:
        return hipSuccess; /* that its turn has come is all */
    case WORK_KERNEL: case WORK_GRAPH: case WORK_VALUES: return hipErrorUnknown;
    case WORK_COPY: return copy_run(&w->copy);
    case WORK_COPY_RECT: return rect_run(&w->rect);
    case WORK_FILL: return fill_run(&w->fill);
    case WORK_HOST: w->host.fn(w->host.userData); return hipSuccess;
    case WORK_CALLBACK: w->callback.call(stream, device_fault(), w->callback.data); return hipSuccess;
    case WORK_FREE: return release_block(w->released);
    case WORK_WRITE_VALUE: return write_value(&w->value);
    }
    return hipErrorUnknown;
}

/* {HIP_LAUNCH_PARAM_BUFFER_POINTER, p, HIP_LAUNCH_PARAM_BUFFER_SIZE, &n, HIP_LAUNCH_PARAM_END}, with room behind it. */
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

/* The pointers, and behind them the values, each at a multiple of 16 bytes. */
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
    if (w->kind == WORK_GRAPH)
        return graph_clone(w->graph, &out->graph);
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
    if (w->kind == WORK_GRAPH && w->graph)
        graph_end(w->graph);
    *w = (Work){.kind = WORK_EMPTY};
}
