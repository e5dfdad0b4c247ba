/*
 * Events. hipEventElapsedTime gives the wall time of the emulation between two records, in ms: it grows monotonically,
 * and says nothing about the time that a GPU would take.
 */
#include "hip/devices/device.h"
#include "hip/streams/queue.h"
#include "hip/runtime/refuse.h"

#include <stdlib.h>

static Event *events;

Event *event_find(hipEvent_t event)
{
    runtime_lock();
    Event *e = events;
    while (e && (hipEvent_t)e != event)
        e = e->next;
    runtime_unlock();
    return e;
}

void event_forget_capture(const Capture *c)
{
    runtime_lock();
    for (Event *e = events; e; e = e->next)
        if (e->capture == c) {
            e->capture = NULL;
            list_clear(&e->nodes);
        }
    runtime_unlock();
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    enum { KNOWN = hipEventDefault | hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                   hipEventReleaseToDevice | hipEventReleaseToSystem };
    if (!event || flags & ~(unsigned)KNOWN)
        return answer(hipErrorInvalidValue);
    Event *e = calloc(1, sizeof *e);
    if (!e)
        return answer(hipErrorOutOfMemory);
    e->flags = flags;
    runtime_lock();
    e->next = events;
    events = e;
    runtime_unlock();
    *event = (hipEvent_t)e;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event)
{
    hipError_t error = hipErrorInvalidHandle;
    runtime_lock();
    for (Event **link = &events; *link; link = &(*link)->next) {
        Event *e = *link;
        if ((hipEvent_t)e != event)
            continue;
        *link = e->next;
        list_clear(&e->nodes);
        mark_drop(e->mark);
        free(e);
        error = hipSuccess;
        break;
    }
    runtime_unlock();
    return answer(error);
}

Mark *event_renew(hipEvent_t event)
{
    Mark *mark = NULL;
    runtime_lock();
    Event *e = event_find(event);
    if (e && (mark = mark_new())) {
        mark_drop(e->mark);
        e->mark = mark_share(mark);
        e->capture = NULL;
        list_clear(&e->nodes);
    }
    runtime_unlock();
    return mark;
}

Mark *event_mark(hipEvent_t event)
{
    runtime_lock();
    const Event *e = event_find(event);
    Mark *mark = e ? mark_share(e->mark) : NULL;
    runtime_unlock();
    return mark;
}

/* In a capture an event stands for the nodes that its stream has come to. */
static hipError_t record_in_capture(Event *e, const Stream *s)
{
    list_clear(&e->nodes);
    for (u32 i = 0; i < s->tail.count; i++)
        if (!list_add(&e->nodes, s->tail.items[i]))
            return hipErrorOutOfMemory;
    e->capture = s->capture;
    return hipSuccess;
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags)
{
    Event *e = event_find(event);
    const Stream *s = stream_find(stream);
    if (!e || !s)
        return answer(hipErrorInvalidHandle);
    const Work w = {.kind = WORK_RECORD, .event = event};
    if (s->capture && flags != hipEventRecordExternal)
        return answer(record_in_capture(e, s));
    return answer(stream_submit(stream, &w));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    return hipEventRecordWithFlags(event, stream, hipEventRecordDefault);
}

/* A stream that waits for an event of a capture takes part in that capture. */
static hipError_t join(Stream *s, Event *e)
{
    if (s->capture && s->capture != e->capture)
        return hipErrorStreamCaptureMerge;
    s->capture = e->capture;
    for (u32 i = 0; i < e->nodes.count; i++)
        if (!list_add(&s->tail, e->nodes.items[i]))
            return hipErrorOutOfMemory;
    return hipSuccess;
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    Event *e = event_find(event);
    Stream *s = stream_find(stream);
    if (!s || !e)
        return answer(hipErrorInvalidHandle);
    if (e->capture)
        return answer(join(s, e));
    const Work w = {.kind = WORK_WAIT, .event = event};
    if (s->capture && flags != hipEventWaitExternal)
        return answer(hipErrorStreamCaptureIsolation);
    return answer(stream_submit(stream, &w));
}

static hipError_t event_wait(hipEvent_t event, bool patient)
{
    const Event *e = event_find(event);
    if (!e || e->capture)
        return e ? hipErrorCapturedEvent : hipErrorInvalidHandle;
    Mark *mark = event_mark(event);
    if (mark && patient)
        mark_wait(mark);
    hipError_t error = !mark || mark_is_reached(mark) ? device_fault() : hipErrorNotReady;
    mark_drop(mark);
    return error;
}

hipError_t hipEventSynchronize(hipEvent_t event) { return answer(event_wait(event, true)); }
hipError_t hipEventQuery(hipEvent_t event) { return answer(event_wait(event, false)); }

static double milliseconds(const Mark *m)
{
    struct timespec t = mark_time(m);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static hipError_t between(const Mark *start, const Mark *stop, float *ms)
{
    if (!start || !stop)
        return hipErrorInvalidHandle;
    if (!mark_is_reached(start) || !mark_is_reached(stop))
        return hipErrorNotReady;
    *ms = (float)(milliseconds(stop) - milliseconds(start));
    return hipSuccess;
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    const Event *a = event_find(start), *b = event_find(stop);
    if (!ms)
        return answer(hipErrorInvalidValue);
    if (!a || !b || (a->flags | b->flags) & hipEventDisableTiming)
        return answer(hipErrorInvalidHandle);
    Mark *first = event_mark(start), *last = event_mark(stop); /* shares: another thread may record them anew */
    hipError_t error = between(first, last, ms);
    mark_drop(first);
    mark_drop(last);
    return answer(error);
}

/* ---- events of other processes ---- */

static const char within_a_process[] = "the order of streams is known within a process only";

hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t *handle, hipEvent_t event)
{
    const Event *e = event_find(event);
    if (!handle || !event || !e)
        return answer(handle && event ? hipErrorInvalidHandle : hipErrorInvalidValue);
    return e->flags & hipEventInterprocess ? refuse("hipIpcGetEventHandle", within_a_process)
                                           : answer(hipErrorInvalidConfiguration);
}

hipError_t hipIpcOpenEventHandle(hipEvent_t *event, hipIpcEventHandle_t handle)
{
    (void)handle;
    return event ? refuse("hipIpcOpenEventHandle", within_a_process) : answer(hipErrorInvalidValue);
}
