/* Streams: their handles, and what programs ask of them. Whose turn it is says queue.c. */
#include "hip/streams/queue.h"

#include "hip/devices/device.h"
#include "hip/streams/stream_order.h"
#include "hip/runtime/refuse.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PRIORITY = 1, GREATEST_PRIORITY = -1 };

static Stream *streams; /* all that programs and threads made; those that ended only while they have work to do */
static Stream null_streams[MAX_DEVICES];
static _Thread_local Stream *own_streams[MAX_DEVICES]; /* hipStreamPerThread */
static _Thread_local bool null_is_own;
static u64 last_id;

static Stream *null_stream(void)
{
    Stream *s = &null_streams[current_device()];
    if (current_device())
        order_begin();
    queue_lock();
    s->device = current_device();
    s->is_null = true;
    queue_unlock();
    return s;
}

static Stream *add(unsigned flags, int priority)
{
    Stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    order_begin();
    *s = (Stream){.flags = flags, .priority = priority, .device = current_device()};
    queue_lock();
    s->id = ++last_id;
    s->next = streams;
    streams = s;
    queue_unlock();
    return s;
}

static void end(Stream *s)
{
    queue_lock();
    s->ended = true;
    list_clear(&s->tail);
    stream_forget_if_ended(s);
    queue_unlock();
}

void stream_forget_if_ended(Stream *s)
{
    if (!s->ended || s->first || s->tended)
        return;
    Stream **link = &streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    order_forget_stream(s);
    free(s->units);
    free(s);
}

/* When a thread ends, so do its streams. */
static pthread_key_t own_key;

static void end_own(void *list)
{
    Stream **own = list;
    for (int k = 0; k < MAX_DEVICES; k++)
        if (own[k])
            end(own[k]);
}

static void make_own_key(void) { pthread_key_create(&own_key, end_own); }

static Stream *own_stream(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    Stream **mine = &own_streams[current_device()];
    pthread_once(&once, make_own_key);
    pthread_setspecific(own_key, own_streams);
    if (!*mine)
        *mine = add(hipStreamDefault, 0);
    return *mine;
}

void stream_null_is_own(bool own) { null_is_own = own; }

Stream *stream_find(hipStream_t stream)
{
    if (stream == hipStreamPerThread || (!stream && null_is_own))
        return own_stream();
    if (!stream || stream == hipStreamLegacy)
        return null_stream();
    queue_lock();
    Stream *s = streams;
    while (s && ((hipStream_t)s != stream || s->ended))
        s = s->next;
    queue_unlock();
    return s;
}

void stream_each_locked(void (*visit)(Stream *s, void *context), void *context)
{
    for (int k = 0; k < MAX_DEVICES; k++)
        if (null_streams[k].is_null)
            visit(&null_streams[k], context);
    for (Stream *s = streams; s; s = s->next)
        visit(s, context);
}

void stream_each(void (*visit)(Stream *s, void *context), void *context)
{
    queue_lock();
    stream_each_locked(visit, context);
    queue_unlock();
}

static hipError_t submit_graph(Stream *s, hipStream_t handle, const Graph *g)
{
    Node **order = graph_order(g);
    hipError_t error = order ? hipSuccess : hipErrorInvalidValue;
    for (u32 i = 0; i < g->nodes.count && error == hipSuccess; i++)
        if (!order[i]->disabled)
            error = stream_do(s, handle, &order[i]->work, false);
    free(order);
    return error;
}

static hipError_t submit_values(Stream *s, hipStream_t handle, const ValuesWork *v)
{
    hipError_t error = hipSuccess;
    Work one;
    for (u32 i = 0; i < v->count && error == hipSuccess; i++)
        if (value_work(&v->list[i], &one))
            error = queue_submit(s, handle, &one, NULL, false);
    return error;
}

/* AMD's runtime has copied pageable memory when the call returns, also where the call launches a graph. */
static bool copies_pageable(const Work *w)
{
    if (w->kind == WORK_COPY)
        return is_pageable(w->copy.to) || is_pageable(w->copy.from);
    return w->kind == WORK_COPY_RECT && (is_pageable(w->rect.to) || is_pageable(w->rect.from));
}

hipError_t stream_do(Stream *s, hipStream_t handle, const Work *w, bool wait)
{
    Mark *mark = NULL;
    wait = wait || copies_pageable(w);
    switch (w->kind) {
    case WORK_EMPTY: case WORK_ALLOCATE: case WORK_RELEASE: return hipSuccess;
    case WORK_GRAPH: return submit_graph(s, handle, w->graph);
    case WORK_VALUES: return submit_values(s, handle, &w->values);
    case WORK_RECORD: mark = event_renew(w->event); break;
    case WORK_WAIT: mark = event_mark(w->event); break;
    default: break;
    }
    if (w->kind == WORK_RECORD && !mark)
        return hipErrorInvalidHandle;
    return queue_submit(s, handle, w, mark, wait);
}

static hipError_t submit(hipStream_t stream, const Work *w, bool wait)
{
    Stream *s = stream_find(stream);
    hipError_t error = s ? capture_forbids_null(s) : hipErrorInvalidHandle;
    if (error != hipSuccess)
        return error;
    return s->capture ? capture_add(s, w) : stream_do(s, stream, w, wait);
}

hipError_t stream_submit(hipStream_t stream, const Work *w) { return submit(stream, w, false); }
hipError_t stream_submit_and_wait(hipStream_t stream, const Work *w) { return submit(stream, w, true); }

static int in_range(int priority)
{
    return priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority > LEAST_PRIORITY ? LEAST_PRIORITY : priority;
}

static hipError_t create(hipStream_t *stream, unsigned flags, int priority)
{
    if (!stream || (flags != hipStreamDefault && flags != hipStreamNonBlocking))
        return hipErrorInvalidValue;
    *stream = (hipStream_t)add(flags, in_range(priority));
    return *stream ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) { return answer(create(stream, flags, 0)); }
hipError_t hipStreamCreate(hipStream_t *stream) { return answer(create(stream, hipStreamDefault, 0)); }

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    return answer(create(stream, flags, priority));
}

/* The mask says which compute units may be used: a kernel's results do not depend on it, so it is told back only. */
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

/* As AMD's runtime: of what a stream was made with, those that exist; all of them where that is none. */
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

/* What it has to do is done all the same. */
hipError_t hipStreamDestroy(hipStream_t stream)
{
    Stream *s = stream && stream != hipStreamLegacy && stream != hipStreamPerThread ? stream_find(stream) : NULL;
    if (!s)
        return answer(hipErrorInvalidHandle);
    end(s);
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    hipError_t error = s ? capture_forbids_stream(s) : hipErrorInvalidHandle;
    if (error != hipSuccess)
        return answer(error);
    queue_wait(s);
    return answer(device_fault());
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    Stream *s = stream_find(stream);
    hipError_t error = s ? capture_forbids_stream(s) : hipErrorInvalidHandle;
    if (error != hipSuccess)
        return answer(error);
    return answer(queue_is_idle(s) ? device_fault() : hipErrorNotReady);
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

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_PRIORITY = 8 }; /* which streams do not have; which is the stream's own */

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
