/*
 * The calls for events. hipEventElapsedTime gives the wall time of the emulation between two records, in ms: it grows
 * monotonically, and says nothing about the time that a GPU would take. The option `clock=simulated` changes that.
 */
#include "hip/runtime/answer.h"
#include "hip/runtime/fault.h"
#include "hip/runtime/unsupported.h"
#include "hip/streams/capture.h"
#include "hip/streams/event.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    enum { KNOWN = hipEventDefault | hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                   hipEventReleaseToDevice | hipEventReleaseToSystem };
    if (!event || flags & ~(unsigned)KNOWN)
        return answer(hipErrorInvalidValue);
    Event *e = event_create(flags);
    if (!e)
        return answer(hipErrorOutOfMemory);
    *event = (hipEvent_t)e;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event)
{
    return answer(event_destroy(event) ? hipSuccess : hipErrorInvalidHandle);
}

/* In a capture an event stands for the tail of its stream. */
static hipError_t record_in_capture(Event *e, const Stream *s)
{
    node_list_clear(&e->nodes);
    for (u32 i = 0; i < s->tail.count; i++)
        if (!node_list_add(&e->nodes, s->tail.items[i]))
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

/* A stream that waits for an event of a capture joins that capture. */
static hipError_t join(Stream *s, Event *e)
{
    if (s->capture && s->capture != e->capture)
        return hipErrorStreamCaptureMerge;
    s->capture = e->capture;
    for (u32 i = 0; i < e->nodes.count; i++)
        if (!node_list_add(&s->tail, e->nodes.items[i]))
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

static hipError_t event_wait(hipEvent_t event, bool wait)
{
    const Event *e = event_find(event);
    if (!e || e->capture)
        return e ? hipErrorCapturedEvent : hipErrorInvalidHandle;
    Mark *mark = event_mark(event);
    if (mark && wait)
        mark_wait(mark);
    hipError_t error = !mark || mark_is_reached(mark) ? fault_latched() : hipErrorNotReady;
    mark_drop(mark);
    return error;
}

hipError_t hipEventSynchronize(hipEvent_t event) { return answer(event_wait(event, true)); }
hipError_t hipEventQuery(hipEvent_t event) { return answer(event_wait(event, false)); }

static hipError_t between(const Mark *start, const Mark *stop, float *ms)
{
    if (!start || !stop)
        return hipErrorInvalidHandle;
    if (!mark_is_reached(start) || !mark_is_reached(stop))
        return hipErrorNotReady;
    *ms = (float)(mark_ms(stop) - mark_ms(start));
    return hipSuccess;
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    const Event *a = event_find(start), *b = event_find(stop);
    if (!ms)
        return answer(hipErrorInvalidValue);
    if (!a || !b || (a->flags | b->flags) & hipEventDisableTiming)
        return answer(hipErrorInvalidHandle);
    Mark *first = event_mark(start), *last = event_mark(stop); /* shared: another thread may record the events again */
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
    return e->flags & hipEventInterprocess ? unsupported("hipIpcGetEventHandle", within_a_process)
                                           : answer(hipErrorInvalidConfiguration);
}

hipError_t hipIpcOpenEventHandle(hipEvent_t *event, hipIpcEventHandle_t handle)
{
    (void)handle;
    return event ? unsupported("hipIpcOpenEventHandle", within_a_process) : answer(hipErrorInvalidValue);
}
