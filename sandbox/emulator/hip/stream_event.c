/*
 * Streams and events. Every stream runs in order and synchronously, so a stream is a name and nothing ever waits.
 *
 * hipEventElapsedTime gives the wall time of the emulation between two records, in ms: it grows monotonically, and says
 * nothing about the time that a GPU would take.
 */
#include "runtime.h"

#include <stdlib.h>
#include <time.h>

typedef enum { HANDLE_STREAM = 0x5354, HANDLE_EVENT = 0x4556 } HandleKind;

struct Handle {
    HandleKind kind;
    unsigned flags;
    bool recorded;
    struct timespec at;
    struct Handle *next;
};
typedef struct Handle Handle;

static Handle *handles; /* all that are alive: an address that is not here is no handle */

static Handle *handle_new(HandleKind kind, unsigned flags)
{
    Handle *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    *h = (Handle){.kind = kind, .flags = flags};
    runtime_lock();
    h->next = handles;
    handles = h;
    runtime_unlock();
    return h;
}

static Handle *handle_find(const void *address, HandleKind kind)
{
    runtime_lock();
    Handle *h = handles;
    while (h && h != address)
        h = h->next;
    runtime_unlock();
    return h && h->kind == kind ? h : NULL;
}

static hipError_t handle_end(const void *address, HandleKind kind)
{
    hipError_t error = hipErrorInvalidHandle;
    runtime_lock();
    for (Handle **link = &handles; *link; link = &(*link)->next) {
        Handle *h = *link;
        if (h == address && h->kind == kind) {
            *link = h->next;
            free(h);
            error = hipSuccess;
            break;
        }
    }
    runtime_unlock();
    return error;
}

static bool is_stream(hipStream_t stream)
{
    return !stream || stream == hipStreamPerThread || stream == hipStreamLegacy || handle_find(stream, HANDLE_STREAM);
}

static hipError_t wait_for(hipStream_t stream)
{
    return answer(is_stream(stream) ? device_fault() : hipErrorInvalidHandle);
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    if (!stream || (flags != hipStreamDefault && flags != hipStreamNonBlocking))
        return answer(hipErrorInvalidValue);
    *stream = (hipStream_t)handle_new(HANDLE_STREAM, flags);
    return answer(*stream ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t hipStreamCreate(hipStream_t *stream)
{
    return hipStreamCreateWithFlags(stream, hipStreamDefault);
}

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    (void)priority;
    return hipStreamCreateWithFlags(stream, flags);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    return answer(handle_end(stream, HANDLE_STREAM));
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return wait_for(stream);
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    return wait_for(stream);
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    (void)flags;
    return answer(is_stream(stream) && handle_find(event, HANDLE_EVENT) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    if (!flags || !is_stream(stream))
        return answer(flags ? hipErrorInvalidHandle : hipErrorInvalidValue);
    const Handle *h = handle_find(stream, HANDLE_STREAM);
    *flags = h ? h->flags : hipStreamDefault;
    return hipSuccess;
}

hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    if (!priority || !is_stream(stream))
        return answer(priority ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *priority = 0;
    return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *ordinal)
{
    if (!ordinal || !is_stream(stream))
        return answer(ordinal ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *ordinal = 0;
    return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    if (!status || !is_stream(stream))
        return answer(status ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *status = hipStreamCaptureStatusNone;
    return hipSuccess;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    (void)stream, (void)mode;
    return answer(hipErrorNotSupported); /* no graphs */
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *data, unsigned flags)
{
    if (!callback || flags || !is_stream(stream))
        return answer(hipErrorInvalidValue);
    callback(stream, device_fault(), data);
    return hipSuccess;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data)
{
    if (!function || !is_stream(stream))
        return answer(hipErrorInvalidValue);
    function(data);
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    if (!event)
        return answer(hipErrorInvalidValue);
    *event = (hipEvent_t)handle_new(HANDLE_EVENT, flags);
    return answer(*event ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    return answer(handle_end(event, HANDLE_EVENT));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    Handle *h = handle_find(event, HANDLE_EVENT);
    if (!h || !is_stream(stream))
        return answer(hipErrorInvalidHandle);
    clock_gettime(CLOCK_MONOTONIC, &h->at);
    h->recorded = true;
    return hipSuccess;
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags)
{
    (void)flags;
    return hipEventRecord(event, stream);
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return answer(handle_find(event, HANDLE_EVENT) ? device_fault() : hipErrorInvalidHandle);
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return hipEventSynchronize(event);
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    const Handle *a = handle_find(start, HANDLE_EVENT), *b = handle_find(stop, HANDLE_EVENT);
    if (!ms)
        return answer(hipErrorInvalidValue);
    if (!a || !b || !a->recorded || !b->recorded || (a->flags | b->flags) & hipEventDisableTiming)
        return answer(hipErrorInvalidHandle);
    *ms = (float)((double)(b->at.tv_sec - a->at.tv_sec) * 1e3 + (double)(b->at.tv_nsec - a->at.tv_nsec) / 1e6);
    return hipSuccess;
}
