#include "hip/streams/submit.h"

#include "hip/graphs/graph.h"
#include "hip/memory/range.h"
#include "hip/streams/capture.h"
#include "hip/streams/event.h"
#include "hip/streams/queue.h"
#include "hip/streams/stream.h"
#include "hip/work/values.h"

#include <stdlib.h>

static hipError_t submit_graph(Stream *s, hipStream_t handle, const Graph *g)
{
    Node **order = graph_order(g);
    hipError_t error = order ? hipSuccess : hipErrorInvalidValue;
    for (u32 i = 0; i < g->nodes.count && error == hipSuccess; i++)
        if (!order[i]->disabled)
            error = stream_submit_uncaptured(s, handle, &order[i]->work, false);
    free(order);
    return error;
}

static hipError_t submit_values(Stream *s, hipStream_t handle, const ValuesWork *v)
{
    hipError_t error = hipSuccess;
    Work one;
    for (u32 i = 0; i < v->count && error == hipSuccess; i++)
        if (values_item(&v->list[i], &one))
            error = queue_submit(s, handle, &one, NULL, false);
    return error;
}

/* AMD's runtime has copied pageable memory when the call returns, even if the call launches a graph. */
static bool copies_pageable(const Work *w)
{
    if (w->kind == WORK_COPY)
        return range_is_pageable(w->copy.to) || range_is_pageable(w->copy.from);
    return w->kind == WORK_COPY_2D_3D && (range_is_pageable(w->copy_2d_3d.to) || range_is_pageable(w->copy_2d_3d.from));
}

hipError_t stream_submit_uncaptured(Stream *s, hipStream_t handle, const Work *w, bool wait)
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
    return s->capture ? capture_add(s, w) : stream_submit_uncaptured(s, stream, w, wait);
}

hipError_t stream_submit(hipStream_t stream, const Work *w) { return submit(stream, w, false); }
hipError_t stream_submit_and_wait(hipStream_t stream, const Work *w) { return submit(stream, w, true); }
