/* Capture: the work of streams becomes the nodes of a graph. */
#include "hip/streams/capture.h"

#include "hip/runtime/answer.h"
#include "hip/streams/event.h"
#include "hip/streams/stream.h"

#include <stdlib.h>

static u64 last_capture;
static u32 capturing;  /* the number of captures */
static u32 forbidding; /* global captures: while one exists, calls that would wait are an error in every thread */
static _Thread_local u32 forbidding_here;
static _Thread_local hipStreamCaptureMode mode_here = hipStreamCaptureModeGlobal;

hipError_t capture_add(Stream *s, const Work *w)
{
    Node *node;
    if (s->capture->broken)
        return hipErrorStreamCaptureInvalidated;
    hipError_t error = graph_add(s->capture->graph, &s->tail, w, &node);
    if (error == hipSuccess) {
        node_list_clear(&s->tail);
        error = node_list_add(&s->tail, node) ? hipSuccess : hipErrorOutOfMemory;
    }
    s->capture->broken |= error != hipSuccess;
    return error;
}

hipError_t capture_forbids(void)
{
    bool relaxed = mode_here == hipStreamCaptureModeRelaxed;
    bool elsewhere = mode_here == hipStreamCaptureModeGlobal && __atomic_load_n(&forbidding, __ATOMIC_RELAXED);
    return !relaxed && (elsewhere || forbidding_here) ? hipErrorStreamCaptureUnsupported : hipSuccess;
}

hipError_t capture_forbids_stream(Stream *s)
{
    if (!s->capture)
        return hipSuccess;
    s->capture->broken = true;
    return hipErrorStreamCaptureUnsupported;
}

typedef struct {
    const Stream *null; /* only captures of streams that it waits for; NULL: all */
    bool found;
} Break;

static void break_capture(Stream *s, void *context)
{
    Break *b = context;
    if (!s->capture || (b->null && (s->device != b->null->device || s->flags & hipStreamNonBlocking)))
        return;
    s->capture->broken = b->found = true;
}

static void each_stream(void (*visit)(Stream *s, void *context), void *context)
{
    stream_list_lock();
    stream_list_each(visit, context);
    stream_list_unlock();
}

static hipError_t break_captures(const Stream *null)
{
    Break b = {.null = null};
    if (__atomic_load_n(&capturing, __ATOMIC_RELAXED))
        each_stream(break_capture, &b);
    return b.found ? hipErrorStreamCaptureImplicit : hipSuccess;
}

hipError_t capture_forbids_copies(void) { return capture_forbids() == hipSuccess ? hipSuccess : break_captures(NULL); }

hipError_t capture_forbids_null(const Stream *s) { return s->is_null ? break_captures(s) : hipSuccess; }

static hipError_t begin(hipStream_t stream, Graph *graph, const hipGraphNode_t *needs, size_t count,
                        hipStreamCaptureMode mode)
{
    Stream *s = stream_find(stream);
    if (!s)
        return hipErrorInvalidHandle;
    if (mode != hipStreamCaptureModeGlobal && mode != hipStreamCaptureModeThreadLocal &&
        mode != hipStreamCaptureModeRelaxed)
        return hipErrorInvalidValue;
    if (!stream || stream == hipStreamLegacy)
        return hipErrorStreamCaptureUnsupported;
    if (s->capture)
        return hipErrorIllegalState;
    Capture *c = calloc(1, sizeof *c);
    if (!c)
        return hipErrorOutOfMemory;
    *c = (Capture){.graph = graph, .owns_graph = !graph, .mode = mode, .thread = pthread_self(), .origin = s};
    if (!graph && !(c->graph = calloc(1, sizeof *c->graph))) {
        free(c);
        return hipErrorOutOfMemory;
    }
    c->id = __atomic_add_fetch(&last_capture, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&capturing, 1, __ATOMIC_RELAXED);
    s->capture = c;
    for (size_t i = 0; i < count; i++)
        node_list_add(&s->tail, needs[i]);
    if (mode == hipStreamCaptureModeGlobal)
        __atomic_add_fetch(&forbidding, 1, __ATOMIC_RELAXED);
    else if (mode == hipStreamCaptureModeThreadLocal)
        forbidding_here++;
    return hipSuccess;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    return answer(begin(stream, NULL, NULL, 0, mode));
}

hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t *needs,
                                        const hipGraphEdgeData *edges, size_t count, hipStreamCaptureMode mode)
{
    (void)edges;
    if (!graph || (count && !needs))
        return answer(hipErrorInvalidValue);
    return answer(begin(stream, graph, needs, count, mode));
}

typedef struct {
    Capture *capture;
    bool unjoined, end;
} Sweep;

/* A stream is joined when the origin depends on all nodes of the stream's tail. */
static bool is_joined(const Stream *s, const Stream *origin)
{
    Graph *g = origin->capture->graph;
    for (u32 i = 0; i < g->nodes.count; i++)
        g->nodes.items[i]->mark = node_list_has(&origin->tail, g->nodes.items[i]);
    for (u32 i = g->nodes.count; i-- > 0;) { /* captures add a node after those it needs */
        const Node *n = g->nodes.items[i];
        for (u32 k = 0; n->mark && k < n->needs.count; k++)
            n->needs.items[k]->mark = 1;
    }
    for (u32 i = 0; i < s->tail.count; i++)
        if (!s->tail.items[i]->mark)
            return false;
    return true;
}

static void sweep(Stream *s, void *context)
{
    Sweep *w = context;
    if (s->capture != w->capture)
        return;
    if (!w->end) {
        w->unjoined |= s != w->capture->origin && !is_joined(s, w->capture->origin);
        return;
    }
    s->capture = NULL;
    node_list_clear(&s->tail);
}

static void stop_forbidding(const Capture *c)
{
    if (c->mode == hipStreamCaptureModeGlobal)
        __atomic_sub_fetch(&forbidding, 1, __ATOMIC_RELAXED);
    else if (c->mode == hipStreamCaptureModeThreadLocal && forbidding_here)
        forbidding_here--;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    Stream *s = stream_find(stream);
    if (!s || !graph)
        return answer(graph ? hipErrorInvalidHandle : hipErrorInvalidValue);
    Capture *c = s->capture;
    if (!c)
        return answer(hipErrorIllegalState);
    if (c->origin != s)
        return answer(hipErrorStreamCaptureUnmatched);
    if (c->mode != hipStreamCaptureModeRelaxed && !pthread_equal(c->thread, pthread_self()))
        return answer(hipErrorStreamCaptureWrongThread);
    Sweep w = {.capture = c};
    each_stream(sweep, &w);
    hipError_t error = c->broken ? hipErrorStreamCaptureInvalidated : w.unjoined ? hipErrorStreamCaptureUnjoined : hipSuccess;
    w.end = true;
    each_stream(sweep, &w);
    event_forget_capture(c);
    __atomic_sub_fetch(&capturing, 1, __ATOMIC_RELAXED);
    stop_forbidding(c);
    *graph = error == hipSuccess ? c->graph : NULL;
    if (error != hipSuccess && c->owns_graph)
        graph_end(c->graph);
    free(c);
    return answer(error);
}

static hipStreamCaptureStatus status(const Stream *s)
{
    if (!s->capture)
        return hipStreamCaptureStatusNone;
    return s->capture->broken ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *out)
{
    const Stream *s = stream_find(stream);
    if (!out || !s)
        return answer(out ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *out = status(s);
    return hipSuccess;
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *out, unsigned long long *id,
                                      hipGraph_t *graph, const hipGraphNode_t **needs, size_t *count)
{
    const Stream *s = stream_find(stream);
    if (!out || !s)
        return answer(out ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *out = status(s);
    if (*out != hipStreamCaptureStatusActive)
        return hipSuccess;
    if (id)
        *id = s->capture->id;
    if (graph)
        *graph = s->capture->graph;
    if (needs)
        *needs = s->tail.items;
    if (count)
        *count = s->tail.count;
    return hipSuccess;
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *out, unsigned long long *id)
{
    return hipStreamGetCaptureInfo_v2(stream, out, id, NULL, NULL, NULL);
}

hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t *needs, size_t count, unsigned flags)
{
    Stream *s = stream_find(stream);
    if (!s || !s->capture)
        return answer(s ? hipErrorIllegalState : hipErrorInvalidHandle);
    if ((count && !needs) || flags > hipStreamSetCaptureDependencies)
        return answer(hipErrorInvalidValue);
    if (flags == hipStreamSetCaptureDependencies)
        node_list_clear(&s->tail);
    for (size_t i = 0; i < count; i++)
        if (!node_list_add(&s->tail, needs[i]))
            return answer(hipErrorOutOfMemory);
    return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    if (!mode || *mode > hipStreamCaptureModeRelaxed)
        return answer(hipErrorInvalidValue);
    hipStreamCaptureMode before = mode_here;
    mode_here = *mode;
    *mode = before;
    return hipSuccess;
}
