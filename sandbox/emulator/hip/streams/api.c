/* The calls that make streams, ask about them and wait for them. */
#include "hip/devices/device.h"
#include "hip/runtime/answer.h"
#include "hip/runtime/fault.h"
#include "hip/streams/capture.h"
#include "hip/streams/queue.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PRIORITY = 1, GREATEST_PRIORITY = -1 };

static int in_range(int priority)
{
    return priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority > LEAST_PRIORITY ? LEAST_PRIORITY : priority;
}

static hipError_t create(hipStream_t *stream, unsigned flags, int priority)
{
    if (!stream || (flags != hipStreamDefault && flags != hipStreamNonBlocking))
        return hipErrorInvalidValue;
    *stream = (hipStream_t)stream_create(flags, in_range(priority));
    return *stream ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) { return answer(create(stream, flags, 0)); }
hipError_t hipStreamCreate(hipStream_t *stream) { return answer(create(stream, hipStreamDefault, 0)); }

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    return answer(create(stream, flags, priority));
}

/* The mask of the compute units that may be used. A kernel's results do not depend on it: it is only kept to be read. */
hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, u32 words, const u32 *mask)
{
    if (!stream || !words || !mask)
        return answer(stream ? hipErrorInvalidValue : hipErrorInvalidHandle);
    u32 *units = malloc(words * sizeof *units);
    hipError_t error = units ? create(stream, hipStreamDefault, 0) : hipErrorOutOfMemory;
    if (error != hipSuccess) {
        free(units);
        return answer(error);
    }
    memcpy(units, mask, words * sizeof *units);
    Stream *s = (Stream *)*stream;
    s->units = units;
    s->unit_words = words;
    return hipSuccess;
}

static u32 units_of_device(u32 word)
{
    u32 units = (u32)device()->compute_units;
    return 32 * word + 32 <= units ? ~0u : (1u << (units % 32)) - 1;
}

/* As in AMD's runtime: those units of the stream's mask that exist; all units if there are none. */
hipError_t hipExtStreamGetCUMask(hipStream_t stream, u32 words, u32 *mask)
{
    u32 device_words = ((u32)device()->compute_units + 31) / 32, any = 0;
    if (!mask || words < device_words)
        return answer(hipErrorInvalidValue);
    const Stream *s = stream_find(stream);
    if (!s)
        return answer(hipErrorInvalidHandle);
    u32 own_words = s->unit_words < device_words ? s->unit_words : device_words;
    for (u32 i = 0; i < own_words; i++)
        any |= s->units[i] & units_of_device(i);
    for (u32 i = 0; i < (any ? own_words : device_words); i++)
        mask[i] = any ? s->units[i] & units_of_device(i) : units_of_device(i);
    return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    Stream *s = stream && stream != hipStreamLegacy && stream != hipStreamPerThread ? stream_find(stream) : NULL;
    if (!s)
        return answer(hipErrorInvalidHandle);
    stream_destroy(s);
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    hipError_t error = s ? capture_forbids_stream(s) : hipErrorInvalidHandle;
    if (error != hipSuccess)
        return answer(error);
    queue_wait(s);
    return answer(fault_latched());
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    hipError_t error = s ? capture_forbids_stream(s) : hipErrorInvalidHandle;
    if (error != hipSuccess)
        return answer(error);
    return answer(queue_is_idle(s) ? fault_latched() : hipErrorNotReady);
}

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

/* ---- attributes (HIP 7) ---- */

/* Streams do not have the first; the second is the stream's own. */
enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_PRIORITY = 8 };

static hipError_t may_have(const Stream *s, int which, const void *value)
{
    if (!value || which == ATTRIBUTE_COOPERATIVE)
        return hipErrorInvalidValue;
    return s ? hipSuccess : hipErrorInvalidResourceHandle;
}

hipError_t hipStreamSetAttribute(hipStream_t stream, int which, const void *value);
hipError_t hipStreamSetAttribute(hipStream_t stream, int which, const void *value)
{
    Stream *s = stream_find(stream);
    hipError_t error = may_have(s, which, value);
    if (error == hipSuccess && s->capture)
        error = hipErrorStreamCaptureUnsupported;
    if (error == hipSuccess && !attribute_set(&s->attributes, which, value))
        error = hipErrorInvalidValue;
    if (error == hipSuccess && which == ATTRIBUTE_PRIORITY)
        s->priority = in_range(s->attributes.priority);
    return answer(error);
}

hipError_t hipStreamGetAttribute(hipStream_t stream, int which, void *value);
hipError_t hipStreamGetAttribute(hipStream_t stream, int which, void *value)
{
    const Stream *s = stream_find(stream);
    hipError_t error = may_have(s, which, value);
    if (error != hipSuccess)
        return answer(error);
    Attributes a = s->attributes;
    a.priority = s->priority;
    a.policy = a.policy ? a.policy : 1; /* hipSyncPolicyAuto */
    return answer(attribute_get(&a, which, value) ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from);
hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from)
{
    Stream *t = stream_find(to);
    const Stream *f = stream_find(from);
    if (!t || !f)
        return answer(hipErrorInvalidResourceHandle);
    t->attributes = f->attributes;
    t->priority = f->priority;
    return hipSuccess;
}
