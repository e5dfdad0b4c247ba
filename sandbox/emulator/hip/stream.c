/* Streams. Every one runs in order and synchronously, so a stream is a name, and nothing ever waits; or it captures. */
#include "stream.h"

#include "device.h"
#include "refuse.h"

#include <stdlib.h>

enum { LEAST_PRIORITY = 1, GREATEST_PRIORITY = -1 };

static Stream *streams; /* all that programs made and have not destroyed */
static Stream null_streams[MAX_DEVICES];
static _Thread_local Stream per_thread_stream;
static u64 last_id;

static Stream *null_stream(void)
{
    Stream *s = &null_streams[current_device()];
    s->device = current_device();
    return s;
}

Stream *stream_find(hipStream_t stream)
{
    if (!stream || stream == hipStreamLegacy)
        return null_stream();
    if (stream == hipStreamPerThread) {
        per_thread_stream.device = current_device();
        return &per_thread_stream;
    }
    runtime_lock();
    Stream *s = streams;
    while (s && (hipStream_t)s != stream)
        s = s->next;
    runtime_unlock();
    return s;
}

void stream_each(void (*visit)(Stream *s, void *context), void *context)
{
    runtime_lock();
    for (Stream *s = streams; s; s = s->next)
        visit(s, context);
    visit(&per_thread_stream, context);
    runtime_unlock();
}

hipError_t stream_submit(hipStream_t stream, const Work *w)
{
    Stream *s = stream_find(stream);
    if (!s)
        return hipErrorInvalidHandle;
    if (s->capture)
        return capture_add(s, w);
    int before = current_device();
    set_current_device(s->device);
    hipError_t error = work_run(w, stream);
    set_current_device(before);
    return error;
}

static hipError_t create(hipStream_t *stream, unsigned flags, int priority)
{
    if (!stream || (flags != hipStreamDefault && flags != hipStreamNonBlocking))
        return hipErrorInvalidValue;
    Stream *s = calloc(1, sizeof *s);
    if (!s)
        return hipErrorOutOfMemory;
    int bounded = priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority > LEAST_PRIORITY ? LEAST_PRIORITY : priority;
    *s = (Stream){.flags = flags, .priority = bounded, .device = current_device()};
    runtime_lock();
    s->id = ++last_id;
    s->next = streams;
    streams = s;
    runtime_unlock();
    *stream = (hipStream_t)s;
    return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) { return answer(create(stream, flags, 0)); }
hipError_t hipStreamCreate(hipStream_t *stream) { return answer(create(stream, hipStreamDefault, 0)); }

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    return answer(create(stream, flags, priority));
}

/* The mask says which compute units may be used: a kernel's results do not depend on it. */
hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, u32 words, const u32 *mask)
{
    return answer(words && mask ? create(stream, hipStreamDefault, 0) : hipErrorInvalidValue);
}

hipError_t hipExtStreamGetCUMask(hipStream_t stream, u32 words, u32 *mask)
{
    u32 units = (u32)device()->compute_units;
    if (!mask || words < (units + 31) / 32 || !stream_find(stream))
        return answer(mask ? hipErrorInvalidHandle : hipErrorInvalidValue);
    for (u32 i = 0; i < words; i++)
        mask[i] = 32 * i + 32 <= units ? ~0u : 32 * i < units ? (1u << (units % 32)) - 1 : 0;
    return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    hipError_t error = hipErrorInvalidHandle;
    runtime_lock();
    for (Stream **link = &streams; *link; link = &(*link)->next) {
        Stream *s = *link;
        if ((hipStream_t)s != stream)
            continue;
        *link = s->next;
        list_clear(&s->tail);
        free(s);
        error = hipSuccess;
        break;
    }
    runtime_unlock();
    return answer(error);
}

static hipError_t wait_for(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    if (!s)
        return answer(hipErrorInvalidHandle);
    hipError_t error = capture_forbids_stream(s);
    return answer(error != hipSuccess ? error : device_fault());
}

hipError_t hipStreamSynchronize(hipStream_t stream) { return wait_for(stream); }
hipError_t hipStreamQuery(hipStream_t stream) { return wait_for(stream); }

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    const Stream *s = stream_find(stream);
    if (!flags || !s)
        return answer(flags ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *flags = s->flags;
    return hipSuccess;
}

hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    const Stream *s = stream_find(stream);
    if (!priority || !s)
        return answer(priority ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *priority = s->priority;
    return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *ordinal)
{
    const Stream *s = stream_find(stream);
    if (!ordinal || !s)
        return answer(ordinal ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *ordinal = s->device;
    return hipSuccess;
}

hipError_t hipStreamGetId(hipStream_t stream, unsigned long long *id)
{
    const Stream *s = stream_find(stream);
    if (!id || !s)
        return answer(id ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *id = s->id;
    return hipSuccess;
}

int hipGetStreamDeviceId(hipStream_t stream)
{
    const Stream *s = stream_find(stream);
    return s ? s->device : -1;
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = LEAST_PRIORITY;
    if (greatest)
        *greatest = GREATEST_PRIORITY;
    return hipSuccess;
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream, void *pointer, size_t bytes, unsigned flags)
{
    (void)bytes;
    bool known = flags == hipMemAttachGlobal || flags == hipMemAttachHost || flags == hipMemAttachSingle;
    if (!pointer || !known)
        return answer(hipErrorInvalidValue);
    return answer(stream_find(stream) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *data, unsigned flags)
{
    if (!callback || flags)
        return answer(hipErrorInvalidValue);
    const Work w = {.kind = WORK_CALLBACK, .callback = {callback, data}};
    return answer(stream_submit(stream, &w));
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data)
{
    if (!function)
        return answer(hipErrorInvalidValue);
    const Work w = {.kind = WORK_HOST, .host = {function, data}};
    return answer(stream_submit(stream, &w));
}

/* ---- values in memory that streams wait for and write ---- */

static hipError_t submit_value(hipStream_t stream, WorkKind kind, ValueWork value)
{
    if (!value.address || (u64)(uintptr_t)value.address % value.bytes)
        return answer(hipErrorInvalidValue);
    const Work w = {.kind = kind, .value = value};
    return answer(stream_submit(stream, &w));
}

hipError_t hipStreamWaitValue32(hipStream_t stream, void *address, u32 value, unsigned condition, u32 mask)
{
    return submit_value(stream, WORK_WAIT_VALUE, (ValueWork){address, value, mask, 4, condition});
}

hipError_t hipStreamWaitValue64(hipStream_t stream, void *address, u64 value, unsigned condition, u64 mask)
{
    return submit_value(stream, WORK_WAIT_VALUE, (ValueWork){address, value, mask, 8, condition});
}

hipError_t hipStreamWriteValue32(hipStream_t stream, void *address, u32 value, unsigned flags)
{
    (void)flags;
    return submit_value(stream, WORK_WRITE_VALUE, (ValueWork){address, value, ~0u, 4, 0});
}

hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams *list, unsigned flags)
{
    hipError_t error = list && count && count <= 256 && !flags ? hipSuccess : answer(hipErrorInvalidValue);
    for (unsigned i = 0; i < count && error == hipSuccess; i++) {
        const hipStreamBatchMemOpParams *p = &list[i];
        void *wait = (void *)p->waitValue.address, *write = (void *)p->writeValue.address;
        switch (p->operation) {
        case hipStreamMemOpWaitValue32:
            error = hipStreamWaitValue32(stream, wait, p->waitValue.value, p->waitValue.flags, ~0u);
            break;
        case hipStreamMemOpWaitValue64:
            error = hipStreamWaitValue64(stream, wait, p->waitValue.value64, p->waitValue.flags, ~0ull);
            break;
        case hipStreamMemOpWriteValue32: error = hipStreamWriteValue32(stream, write, p->writeValue.value, 0); break;
        case hipStreamMemOpWriteValue64: error = hipStreamWriteValue64(stream, write, p->writeValue.value64, 0); break;
        default: break; /* barriers and flushes: work is in order and seen at once */
        }
    }
    return error;
}

hipError_t hipStreamWriteValue64(hipStream_t stream, void *address, u64 value, unsigned flags)
{
    (void)flags;
    return submit_value(stream, WORK_WRITE_VALUE, (ValueWork){address, value, ~0ull, 8, 0});
}
