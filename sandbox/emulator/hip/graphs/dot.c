/*
 * A graph as Graphviz draws it, with the shapes and labels of AMD's runtime. Graphs and nodes are numbered from 0 in
 * each file. Of the optional details only the shapes of launches are printed.
 * Source: rocm-systems, projects/clr/hipamd/src/hip_graph_internal.hpp (GenerateDOT, GetLabel, PrintAttributes).
 */
#include "hip/graphs/graph.h"
#include "hip/memory/range.h"
#include "hip/runtime/answer.h"

#include <stdio.h>

typedef struct {
    FILE *out;
    unsigned flags;
    u32 graphs, nodes; /* numbered so far */
} Drawing;

static const struct { WorkKind work; const char *style, *shape, *label; } looks[] = {
    {WORK_EMPTY, "solid", "rectangle", "EMPTY"},
    {WORK_KERNEL, "bold", "octagon", "KERNEL"},
    {WORK_COPY, "solid", "trapezium", "MEMCPY"},
    {WORK_COPY_2D_3D, "solid", "trapezium", "MEMCPY"},
    {WORK_FILL, "solid", "invtrapezium", "MEMSET"},
    {WORK_HOST, "solid", "rectangle", "HOST"},
    {WORK_CALLBACK, "solid", "rectangle", "HOST"},
    {WORK_RECORD, "solid", "rectangle", "EVENT_RECORD"},
    {WORK_WAIT, "solid", "rectangle", "EVENT_WAIT"},
    {WORK_ALLOCATE, "solid", "rectangle", "MEM_ALLOC"},
    {WORK_RELEASE, "solid", "rectangle", "MEM_FREE"},
    {WORK_GRAPH, "solid", "rectangle", "graph"},
    {WORK_WAIT_VALUE, "solid", "rectangle", "BATCH_MEM_OP_NODE"},
    {WORK_WRITE_VALUE, "solid", "rectangle", "BATCH_MEM_OP_NODE"},
    {WORK_VALUES, "solid", "rectangle", "BATCH_MEM_OP_NODE"},
};

static size_t look_of(WorkKind kind)
{
    size_t i = 0;
    while (i + 1 < sizeof looks / sizeof *looks && looks[i].work != kind)
        i++;
    return i;
}

static bool with_launch(const Drawing *d)
{
    return d->flags == hipGraphDebugDotFlagsKernelNodeParams || d->flags == hipGraphDebugDotFlagsVerbose;
}

static const char *direction(const void *to, const void *from, hipMemcpyKind kind)
{
    bool host_to = range_is_pageable(to), host_from = range_is_pageable(from);
    if (host_to && host_from) /* for these AMD's runtime prints the program's kind */
        return kind == hipMemcpyHostToDevice ? "HtoD" : kind == hipMemcpyDeviceToHost ? "DtoH" : "";
    return host_from ? "HtoD" : host_to ? "DtoH" : "DtoD";
}

static void label_kernel(const Drawing *d, const KernelWork *w)
{
    const u32 *grid = w->shape.grid, *block = w->shape.block;
    fprintf(d->out, "\n%s\n", w->function->kernel->name);
    if (with_launch(d)) /* whole workgroups, then the work-items of the partial one */
        fprintf(d->out, "\\<\\<\\<(%u,%u,%u),(%u,%u,%u),(%u,%u,%u),%u\\>\\>\\>", grid[0] / block[0], grid[1] / block[1],
                grid[2] / block[2], block[0], block[1], block[2], grid[0] % block[0], grid[1] % block[1],
                grid[2] % block[2], w->shape.dynamic_lds_bytes);
}

static void label_fill(const Drawing *d, const FillWork *w)
{
    size_t rows = w->height == 1 ? 1 : w->height * w->depth;
    fprintf(d->out, "\nMEMSET\n(%u,%zu)", w->value, w->width * rows * w->element_bytes);
}

/* `child`: the number of the next child graph. */
static void label(const Drawing *d, const Work *w, u32 *child)
{
    switch (w->kind) {
    case WORK_KERNEL: label_kernel(d, &w->kernel); break;
    case WORK_FILL: label_fill(d, &w->fill); break;
    case WORK_COPY:
        fprintf(d->out, "\nMEMCPY\n(%s,%zu)", direction(w->copy.to, w->copy.from, w->copy.kind), w->copy.bytes);
        break;
    case WORK_COPY_2D_3D:
        fprintf(d->out, "\nMEMCPY\n(%s)", direction(w->copy_2d_3d.to, w->copy_2d_3d.from, w->copy_2d_3d.kind));
        break;
    case WORK_GRAPH: fprintf(d->out, "\ngraph_%u", (*child)++); break;
    default: fprintf(d->out, "\n%s", looks[look_of(w->kind)].label);
    }
}

static void draw_node(const Drawing *d, u32 graph, const Node *n, u32 *child)
{
    size_t look = look_of(n->work.kind);
    const char *shape = n->work.kind == WORK_KERNEL && with_launch(d) ? "record" : looks[look].shape;
    fprintf(d->out, "\n\"graph_%u_node_%u\"[style=\"%s\"shape=\"%s\"label=\"%u", graph, n->mark, looks[look].style,
            shape, n->mark);
    label(d, &n->work, child);
    fputs("\"];\n", d->out);
}

static void draw_graph(Drawing *d, const Graph *g, u32 number)
{
    u32 child = d->graphs, first_child = child;
    for (u32 i = 0; i < g->nodes.count; i++)
        g->nodes.items[i]->mark = d->nodes++;
    fprintf(d->out, "subgraph cluster_%u {\nlabel=\"graph_%u\"graph[style=\"dashed\"];\n", number, number);
    for (u32 i = 0; i < g->nodes.count; i++)
        draw_node(d, number, g->nodes.items[i], &child);
    fputc('\n', d->out);
    for (u32 i = 0; i < g->nodes.count; i++)
        for (u32 k = 0; k < g->nodes.items[i]->needs.count; k++)
            fprintf(d->out, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\"\n", number,
                    g->nodes.items[i]->needs.items[k]->mark, number, g->nodes.items[i]->mark);
    fputs("}\n", d->out);
    d->graphs = child;
    for (u32 i = 0; i < g->nodes.count; i++)
        if (g->nodes.items[i]->work.kind == WORK_GRAPH)
            draw_graph(d, g->nodes.items[i]->work.graph, first_child++);
}

hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char *path, unsigned flags)
{
    FILE *out = graph && path ? fopen(path, "w") : NULL;
    if (!out)
        return answer(graph && path ? hipErrorOperatingSystem : hipErrorInvalidValue);
    Drawing d = {.out = out, .flags = flags, .graphs = 1};
    fputs("digraph dot {\n", out);
    draw_graph(&d, graph, 0);
    fputs("}\n", out);
    fclose(out);
    return hipSuccess;
}
