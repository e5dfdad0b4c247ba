/* Executable graphs: instantiate, update, launch. */
#include "hip/graphs/nodes.h"
#include "hip/runtime/answer.h"
#include "hip/streams/stream.h"
#include "hip/streams/submit.h"

#include <stdio.h>
#include <stdlib.h>

static hipError_t instantiate(hipGraphExec_t *out, const Graph *graph, unsigned long long flags)
{
    if (!out || !graph)
        return hipErrorInvalidValue;
    struct hipGraphExec *e = calloc(1, sizeof *e);
    hipError_t error = e ? graph_clone(graph, &e->graph) : hipErrorOutOfMemory;
    if (error == hipSuccess) {
        e->flags = flags;
        e->order = graph_order(e->graph);
        error = e->order ? hipSuccess : hipErrorInvalidValue; /* the nodes form a cycle */
    }
    if (error != hipSuccess) {
        if (e && e->graph)
            graph_end(e->graph);
        free(e);
        return error;
    }
    *out = e;
    return hipSuccess;
}

hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *bad, char *log, size_t log_bytes)
{
    hipError_t error = instantiate(exec, graph, 0);
    if (bad)
        *bad = NULL;
    if (log && log_bytes)
        snprintf(log, log_bytes, "%s", error == hipSuccess ? "" : "the nodes of the graph depend on each other in a circle");
    return answer(error);
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags)
{
    enum { KNOWN = hipGraphInstantiateFlagAutoFreeOnLaunch | hipGraphInstantiateFlagUpload |
                   hipGraphInstantiateFlagDeviceLaunch | hipGraphInstantiateFlagUseNodePriority };
    return answer(flags & ~(unsigned long long)KNOWN ? hipErrorInvalidValue : instantiate(exec, graph, flags));
}

hipError_t hipGraphInstantiateWithParams(hipGraphExec_t *exec, hipGraph_t graph, hipGraphInstantiateParams *p)
{
    if (!p)
        return answer(hipErrorInvalidValue);
    hipError_t error = hipGraphInstantiateWithFlags(exec, graph, p->flags);
    p->errNode_out = NULL;
    p->result_out = error == hipSuccess ? hipGraphInstantiateSuccess : hipGraphInstantiateError;
    return error;
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    if (!exec)
        return answer(hipErrorInvalidValue);
    graph_end(exec->graph);
    free(exec->order);
    free(exec);
    return hipSuccess;
}

hipError_t hipGraphExecGetFlags(hipGraphExec_t exec, unsigned long long *flags)
{
    if (!exec || !flags)
        return answer(hipErrorInvalidValue);
    *flags = exec->flags;
    return hipSuccess;
}

/* Its nodes become work of the stream, one after the other, with copies of their arguments: later changes of the graph
 * have no effect on it. */
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    Stream *s = stream_find(stream);
    if (!exec || !s)
        return answer(exec ? hipErrorInvalidHandle : hipErrorInvalidValue);
    if (s->capture) {
        const Work w = {.kind = WORK_GRAPH, .graph = exec->graph};
        return answer(stream_submit(stream, &w));
    }
    hipError_t error = hipSuccess;
    for (u32 i = 0; i < exec->graph->nodes.count && error == hipSuccess; i++)
        if (!exec->order[i]->disabled)
            error = stream_submit_uncaptured(s, stream, &exec->order[i]->work, false);
    return answer(error);
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    return answer(exec && stream_find(stream) ? hipSuccess : hipErrorInvalidValue);
}

/* ---- update: the same nodes with other parameters ---- */

static hipGraphExecUpdateResult mismatch(const Node *mine, const Node *theirs, Node *const *my_order,
                                         Node *const *their_order, u32 count)
{
    hipGraphNodeType a, b;
    hipGraphNodeGetType((Node *)(uintptr_t)mine, &a);
    hipGraphNodeGetType((Node *)(uintptr_t)theirs, &b);
    if (a != b)
        return hipGraphExecUpdateErrorNodeTypeChanged;
    if (mine->needs.count != theirs->needs.count)
        return hipGraphExecUpdateErrorTopologyChanged;
    for (u32 i = 0; i < count; i++)
        if (node_list_has(&mine->needs, my_order[i]) != node_list_has(&theirs->needs, their_order[i]))
            return hipGraphExecUpdateErrorTopologyChanged;
    if (a == hipGraphNodeTypeKernel && mine->work.kernel.function->object != theirs->work.kernel.function->object)
        return hipGraphExecUpdateErrorUnsupportedFunctionChange;
    return hipGraphExecUpdateSuccess;
}

static hipGraphExecUpdateResult update(struct hipGraphExec *e, Node *const *order, u32 count, Node **bad)
{
    if (count != e->graph->nodes.count)
        return hipGraphExecUpdateErrorTopologyChanged;
    for (u32 i = 0; i < count; i++) {
        hipGraphExecUpdateResult result = mismatch(e->order[i], order[i], e->order, order, count);
        *bad = result == hipGraphExecUpdateSuccess ? NULL : order[i];
        if (*bad)
            return result;
    }
    for (u32 i = 0; i < count; i++) {
        if (order[i]->work.kind != WORK_ALLOCATE && nodes_set(e->order[i], &order[i]->work) != hipSuccess) {
            *bad = order[i];
            return hipGraphExecUpdateErrorParametersChanged;
        }
        e->order[i]->origin = order[i];
        e->order[i]->attributes = order[i]->attributes;
    }
    return hipGraphExecUpdateSuccess;
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t *bad,
                              hipGraphExecUpdateResult *result)
{
    if (!exec || !graph || !bad || !result)
        return answer(hipErrorInvalidValue);
    Node **order = graph_order(graph);
    *bad = NULL;
    *result = order ? update(exec, order, graph->nodes.count, bad) : hipGraphExecUpdateError;
    free(order);
    return answer(*result == hipGraphExecUpdateSuccess ? hipSuccess : hipErrorGraphExecUpdateFailure);
}

static Node *of_executable(hipGraphExec_t exec, const Node *node)
{
    Node *n = exec && node ? graph_copy_of(exec->graph, node) : NULL;
    bool can = n && (n->work.kind == WORK_KERNEL || n->work.kind == WORK_FILL || n->work.kind == WORK_COPY ||
                     n->work.kind == WORK_COPY_2D_3D);
    return can ? n : NULL;
}

hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned enabled)
{
    Node *n = of_executable(exec, node);
    if (n)
        n->disabled = !enabled;
    return answer(n ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned *enabled)
{
    const Node *n = of_executable(exec, node);
    if (n && enabled)
        *enabled = !n->disabled;
    return answer(n && enabled ? hipSuccess : hipErrorInvalidValue);
}

/* ---- memory that the device keeps for graphs: none, as blocks belong to their graphs ---- */

hipError_t hipDeviceGraphMemTrim(int ordinal)
{
    return answer(runtime_has_device(ordinal) ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipDeviceGetGraphMemAttribute(int ordinal, hipGraphMemAttributeType which, void *value)
{
    if (!value || which > hipGraphMemAttrReservedMemHigh)
        return answer(hipErrorInvalidValue);
    *(u64 *)value = 0;
    return hipDeviceGraphMemTrim(ordinal);
}

hipError_t hipDeviceSetGraphMemAttribute(int ordinal, hipGraphMemAttributeType which, void *value)
{
    if (!value || which > hipGraphMemAttrReservedMemHigh)
        return answer(hipErrorInvalidValue);
    return hipDeviceGraphMemTrim(ordinal);
}
