/* Graphs as programs build them: nodes, dependencies, copies. */
#include "hip/graphs/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of nodes ---- */

bool list_has(const NodeList *l, const Node *n)
{
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i] == n)
            return true;
    return false;
}

bool list_add(NodeList *l, Node *n)
{
    if (list_has(l, n))
        return true;
    Node **items = realloc(l->items, (l->count + 1) * sizeof *items);
    if (!items)
        return false;
    l->items = items;
    l->items[l->count++] = n;
    return true;
}

void list_remove(NodeList *l, const Node *n)
{
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i] == n) {
            memmove(&l->items[i], &l->items[i + 1], (--l->count - i) * sizeof *l->items);
            return;
        }
}

void list_clear(NodeList *l)
{
    free(l->items);
    *l = (NodeList){0};
}

/* ---- nodes ---- */

static void node_end(Node *n)
{
    work_drop(&n->work);
    list_clear(&n->needs);
    free(n);
}

hipError_t graph_add(Graph *g, const NodeList *needs, const Work *w, Node **out)
{
    Node *n = calloc(1, sizeof *n);
    if (!n)
        return hipErrorOutOfMemory;
    n->graph = g;
    n->attributes.cooperative = w->kind == WORK_KERNEL && w->kernel.shape.cooperative;
    hipError_t error = work_keep(w, &n->work);
    if (error != hipSuccess) {
        free(n);
        return error;
    }
    bool kept = true;
    for (u32 i = 0; i < needs->count && kept; i++)
        kept = list_add(&n->needs, needs->items[i]);
    Node **items = kept ? realloc(g->nodes.items, (g->nodes.count + 1) * sizeof *items) : NULL;
    if (!items) {
        node_end(n);
        return hipErrorOutOfMemory;
    }
    g->nodes.items = items;
    g->nodes.items[g->nodes.count++] = n;
    *out = n;
    return hipSuccess;
}

Node *graph_copy_of(const Graph *g, const Node *origin)
{
    for (u32 i = 0; i < g->nodes.count; i++)
        if (g->nodes.items[i]->origin == origin)
            return g->nodes.items[i];
    return NULL;
}

hipError_t graph_clone(const Graph *g, Graph **out)
{
    Graph *copy = calloc(1, sizeof *copy);
    if (!copy)
        return hipErrorOutOfMemory;
    copy->origin = g;
    Node *made;
    hipError_t error = hipSuccess;
    const NodeList none = {0};
    for (u32 i = 0; i < g->nodes.count && error == hipSuccess; i++) {
        const Node *n = g->nodes.items[i];
        error = graph_add(copy, &none, &n->work, &made);
        if (error == hipSuccess) {
            made->origin = n;
            made->disabled = n->disabled;
            made->attributes = n->attributes;
        }
    }
    for (u32 i = 0; i < g->nodes.count && error == hipSuccess; i++)
        for (u32 k = 0; k < g->nodes.items[i]->needs.count && error == hipSuccess; k++)
            if (!list_add(&copy->nodes.items[i]->needs, graph_copy_of(copy, g->nodes.items[i]->needs.items[k])))
                error = hipErrorOutOfMemory;
    if (error != hipSuccess)
        graph_end(copy);
    *out = error == hipSuccess ? copy : NULL;
    return error;
}

void graph_end(Graph *g)
{
    for (u32 i = 0; i < g->nodes.count; i++)
        node_end(g->nodes.items[i]);
    free(g->nodes.items);
    user_objects_release(g->retained);
    free(g);
}

/* Kahn's algorithm; of the nodes that could come next, the one that was added first. */
Node **graph_order(const Graph *g)
{
    Node **order = malloc((g->nodes.count + 1) * sizeof *order);
    u32 done = 0;
    for (u32 i = 0; i < g->nodes.count; i++)
        g->nodes.items[i]->mark = 0;
    for (bool progress = true; order && progress;) {
        progress = false;
        for (u32 i = 0; i < g->nodes.count; i++) {
            Node *n = g->nodes.items[i];
            bool ready = !n->mark;
            for (u32 k = 0; k < n->needs.count && ready; k++)
                ready = n->needs.items[k]->mark;
            if (!ready)
                continue;
            n->mark = 1;
            order[done++] = n;
            progress = true;
        }
    }
    if (done == g->nodes.count)
        return order;
    free(order);
    return NULL;
}

/* ---- what programs call ---- */

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
        list_remove(&g->nodes.items[i]->needs, node);
    list_remove(&g->nodes, node);
    node_end(node);
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
        if (from[i] == to[i] || list_has(&to[i]->needs, from[i]))
            return answer(hipErrorInvalidValue);
        if (!list_add(&to[i]->needs, from[i]))
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
        if (!list_has(&to[i]->needs, from[i]))
            return answer(hipErrorInvalidValue);
        list_remove(&to[i]->needs, from[i]);
    }
    return hipSuccess;
}

/* HIP's way to give a list: without `out` its length is told; else up to *count items, the rest of the room NULL. */
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
            list_add(&roots, graph->nodes.items[i]);
    hipError_t error = give_list(&roots, nodes, count);
    list_clear(&roots);
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
        if (list_has(&node->graph->nodes.items[i]->needs, node))
            list_add(&found, node->graph->nodes.items[i]);
    hipError_t error = give_list(&found, dependents, count);
    list_clear(&found);
    return error;
}

static const struct { WorkKind work; hipGraphNodeType type; } types[] = {
    {WORK_EMPTY, hipGraphNodeTypeEmpty}, {WORK_KERNEL, hipGraphNodeTypeKernel}, {WORK_COPY, hipGraphNodeTypeMemcpy},
    {WORK_COPY_RECT, hipGraphNodeTypeMemcpy}, {WORK_FILL, hipGraphNodeTypeMemset}, {WORK_HOST, hipGraphNodeTypeHost},
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
