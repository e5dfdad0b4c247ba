/* The calls that make, copy and read graphs and their dependencies. */
#include "hip/graphs/graph.h"
#include "hip/runtime/answer.h"

#include <stdlib.h>

hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags)
{
    if (!graph || flags)
        return answer(hipErrorInvalidValue);
    *graph = calloc(1, sizeof **graph);
    return answer(*graph ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    if (!graph)
        return answer(hipErrorInvalidValue);
    graph_end(graph);
    return hipSuccess;
}

hipError_t hipGraphClone(hipGraph_t *clone, hipGraph_t original)
{
    return answer(clone && original ? graph_clone(original, clone) : hipErrorInvalidValue);
}

hipError_t hipGraphNodeFindInClone(hipGraphNode_t *node, hipGraphNode_t original, hipGraph_t clone)
{
    if (!node || !original || !clone)
        return answer(hipErrorInvalidValue);
    *node = graph_copy_of(clone, original);
    return answer(*node ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipGraphDestroyNode(hipGraphNode_t node)
{
    if (!node)
        return answer(hipErrorInvalidValue);
    Graph *g = node->graph;
    for (u32 i = 0; i < g->nodes.count; i++)
        node_list_remove(&g->nodes.items[i]->needs, node);
    node_list_remove(&g->nodes, node);
    graph_end_node(node);
    return hipSuccess;
}

static bool are_nodes_of(const Graph *g, const hipGraphNode_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!nodes[i] || nodes[i]->graph != g)
            return false;
    return true;
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to, size_t count)
{
    if (!graph || (count && (!from || !to)))
        return answer(hipErrorInvalidValue);
    if (!are_nodes_of(graph, from, count) || !are_nodes_of(graph, to, count))
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        if (from[i] == to[i] || node_list_has(&to[i]->needs, from[i]))
            return answer(hipErrorInvalidValue);
        if (!node_list_add(&to[i]->needs, from[i]))
            return answer(hipErrorOutOfMemory);
    }
    return hipSuccess;
}

hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                      size_t count)
{
    if (!graph || (count && (!from || !to)))
        return answer(hipErrorInvalidValue);
    if (!are_nodes_of(graph, from, count) || !are_nodes_of(graph, to, count))
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        if (!node_list_has(&to[i]->needs, from[i]))
            return answer(hipErrorInvalidValue);
        node_list_remove(&to[i]->needs, from[i]);
    }
    return hipSuccess;
}

/* HIP's way to return a list: its length if `out` is NULL; else up to *count items, and NULL for the rest of the room. */
static hipError_t give_list(const NodeList *l, hipGraphNode_t *out, size_t *count)
{
    if (!count)
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; out && i < *count; i++)
        out[i] = i < l->count ? l->items[i] : NULL;
    if (!out || *count > l->count)
        *count = l->count;
    return hipSuccess;
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    return graph ? give_list(&graph->nodes, nodes, count) : answer(hipErrorInvalidValue);
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    NodeList roots = {0};
    if (!graph)
        return answer(hipErrorInvalidValue);
    for (u32 i = 0; i < graph->nodes.count; i++)
        if (!graph->nodes.items[i]->needs.count)
            node_list_add(&roots, graph->nodes.items[i]);
    hipError_t error = give_list(&roots, nodes, count);
    node_list_clear(&roots);
    return error;
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to, size_t *count)
{
    if (!graph || !count || !from != !to)
        return answer(hipErrorInvalidValue);
    size_t edge = 0;
    for (u32 i = 0; i < graph->nodes.count; i++) {
        Node *n = graph->nodes.items[i];
        for (u32 k = 0; k < n->needs.count; k++, edge++)
            if (from && edge < *count) {
                from[edge] = n->needs.items[k];
                to[edge] = n;
            }
    }
    for (size_t i = edge; from && i < *count; i++)
        from[i] = to[i] = NULL;
    if (!from || *count > edge)
        *count = edge;
    return hipSuccess;
}

hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t *needs, size_t *count)
{
    return node ? give_list(&node->needs, needs, count) : answer(hipErrorInvalidValue);
}

hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t *dependents, size_t *count)
{
    NodeList found = {0};
    if (!node)
        return answer(hipErrorInvalidValue);
    for (u32 i = 0; i < node->graph->nodes.count; i++)
        if (node_list_has(&node->graph->nodes.items[i]->needs, node))
            node_list_add(&found, node->graph->nodes.items[i]);
    hipError_t error = give_list(&found, dependents, count);
    node_list_clear(&found);
    return error;
}

static const struct { WorkKind work; hipGraphNodeType type; } types[] = {
    {WORK_EMPTY, hipGraphNodeTypeEmpty}, {WORK_KERNEL, hipGraphNodeTypeKernel}, {WORK_COPY, hipGraphNodeTypeMemcpy},
    {WORK_COPY_2D_3D, hipGraphNodeTypeMemcpy}, {WORK_FILL, hipGraphNodeTypeMemset}, {WORK_HOST, hipGraphNodeTypeHost},
    {WORK_CALLBACK, hipGraphNodeTypeHost}, {WORK_RECORD, hipGraphNodeTypeEventRecord},
    {WORK_WAIT, hipGraphNodeTypeWaitEvent}, {WORK_ALLOCATE, hipGraphNodeTypeMemAlloc},
    {WORK_RELEASE, hipGraphNodeTypeMemFree}, {WORK_GRAPH, hipGraphNodeTypeGraph},
    {WORK_WAIT_VALUE, hipGraphNodeTypeBatchMemOp}, {WORK_WRITE_VALUE, hipGraphNodeTypeBatchMemOp},
    {WORK_VALUES, hipGraphNodeTypeBatchMemOp},
};

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type)
{
    if (!node || !type)
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].work == node->work.kind)
            *type = types[i].type;
    return hipSuccess;
}

hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags)
{
    if (!graph || !object || !count || count > INT32_MAX || flags > hipGraphUserObjectMove)
        return answer(hipErrorInvalidValue);
    bool kept = user_object_keep(&graph->retained, (UserObject *)(void *)object, count, flags != hipGraphUserObjectMove);
    return answer(kept ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count)
{
    bool asked = graph && object && count;
    bool released = asked && user_object_release(&graph->retained, (UserObject *)(void *)object, count);
    return answer(released ? hipSuccess : hipErrorInvalidValue);
}
