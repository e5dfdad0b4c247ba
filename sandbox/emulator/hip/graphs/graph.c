#include "hip/graphs/graph.h"

#include <stdlib.h>

hipError_t graph_keep_work(const Work *w, Work *out)
{
    if (w->kind != WORK_GRAPH)
        return work_keep(w, out);
    *out = *w;
    return graph_clone(w->graph, &out->graph);
}

void graph_drop_work(Work *w)
{
    if (w->kind == WORK_GRAPH && w->graph)
        graph_end(w->graph);
    work_drop(w);
}

void graph_end_node(Node *n)
{
    graph_drop_work(&n->work);
    node_list_clear(&n->needs);
    free(n);
}

hipError_t graph_add(Graph *g, const NodeList *needs, const Work *w, Node **out)
{
    Node *n = calloc(1, sizeof *n);
    if (!n)
        return hipErrorOutOfMemory;
    n->graph = g;
    n->attributes.cooperative = w->kind == WORK_KERNEL && w->kernel.shape.cooperative;
    hipError_t error = graph_keep_work(w, &n->work);
    if (error != hipSuccess) {
        free(n);
        return error;
    }
    bool kept = true;
    for (u32 i = 0; i < needs->count && kept; i++)
        kept = node_list_add(&n->needs, needs->items[i]);
    Node **items = kept ? realloc(g->nodes.items, (g->nodes.count + 1) * sizeof *items) : NULL;
    if (!items) {
        graph_end_node(n);
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
            if (!node_list_add(&copy->nodes.items[i]->needs, graph_copy_of(copy, g->nodes.items[i]->needs.items[k])))
                error = hipErrorOutOfMemory;
    if (error != hipSuccess)
        graph_end(copy);
    *out = error == hipSuccess ? copy : NULL;
    return error;
}

void graph_end(Graph *g)
{
    for (u32 i = 0; i < g->nodes.count; i++)
        graph_end_node(g->nodes.items[i]);
    free(g->nodes.items);
    user_object_release_all(g->retained);
    free(g);
}

/* Kahn's algorithm; among the nodes that are ready, the one that was added first comes next. */
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
