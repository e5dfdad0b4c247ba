/*
 * The nodes of graphs by kind: adding one, reading its parameters back, changing them in a graph or in an executable one.
 * Every kind of parameters is turned into work first; the rest is the same for all.
 */
#include "allocation.h"
#include "refuse.h"
#include "stream.h"

#include <string.h>

typedef const hipGraphNode_t *Needs;

hipError_t node_add(hipGraphNode_t *out, Graph *graph, Needs needs, size_t count, hipError_t made, const Work *w)
{
    if (!out || !graph || (count && !needs))
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        if (!needs[i] || needs[i]->graph != graph)
            return answer(hipErrorInvalidValue);
    const NodeList list = {(Node **)(uintptr_t)needs, (u32)count};
    return answer(made == hipSuccess ? graph_add(graph, &list, w, out) : made);
}

/* Copies in one dimension and in three are one kind of node. */
static WorkKind family(WorkKind kind) { return kind == WORK_COPY_RECT ? WORK_COPY : kind; }

hipError_t node_set(Node *n, const Work *w)
{
    Work kept;
    if (!n || family(n->work.kind) != family(w->kind))
        return hipErrorInvalidValue;
    hipError_t error = work_keep(w, &kept);
    if (error != hipSuccess)
        return error;
    work_drop(&n->work);
    n->work = kept;
    return hipSuccess;
}

static hipError_t set(Node *n, hipError_t made, const Work *w) { return answer(made == hipSuccess ? node_set(n, w) : made); }

Node *node_in(hipGraphExec_t exec, const Node *node)
{
    return exec && node ? graph_copy_of(exec->graph, node) : NULL;
}

/* ---- kernels ---- */

hipError_t kernel_work(const hipKernelNodeParams *p, Work *out)
{
    if (!p || !p->func)
        return p ? hipErrorInvalidDeviceFunction : hipErrorInvalidValue;
    hipError_t error;
    Function *f = registered_function(p->func, &error);
    if (!f && function_exists(p->func))
        f = p->func;
    if (!f)
        return hipErrorInvalidDeviceFunction;
    *out = (Work){.kind = WORK_KERNEL,
                  .kernel = {.function = f, .handle = p->func, .parameters = p->kernelParams, .extra = p->extra}};
    error = launch_shape(p->gridDim, p->blockDim, p->sharedMemBytes, &out->kernel.shape);
    return error == hipSuccess ? launch_check(f, &out->kernel.shape, p->kernelParams, p->extra) : error;
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                 const hipKernelNodeParams *p)
{
    Work w;
    hipError_t made = kernel_work(p, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams *p)
{
    if (!node || !p || node->work.kind != WORK_KERNEL)
        return answer(hipErrorInvalidValue);
    const KernelWork *k = &node->work.kernel;
    const LaunchShape *s = &k->shape;
    *p = (hipKernelNodeParams){
        .func = k->handle,
        .gridDim = {s->grid[0] / s->block[0], s->grid[1] / s->block[1], s->grid[2] / s->block[2]},
        .blockDim = {s->block[0], s->block[1], s->block[2]},
        .sharedMemBytes = s->dynamic_lds_bytes,
        .kernelParams = k->parameters,
        .extra = k->extra,
    };
    return hipSuccess;
}

hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams *p)
{
    Work w;
    hipError_t made = kernel_work(p, &w);
    return set(node, made, &w);
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams *p)
{
    return hipGraphKernelNodeSetParams(node_in(exec, node), p);
}

/* Attributes are hints: they are told back. */
static hipLaunchAttributeValue *attribute_of(Node *node, hipLaunchAttributeID which)
{
    enum { KEPT = sizeof node->attributes / sizeof *node->attributes };
    bool known = node && node->work.kind == WORK_KERNEL && (u32)which < KEPT;
    return known ? &node->attributes[which] : NULL;
}

hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, hipLaunchAttributeID which,
                                          const hipLaunchAttributeValue *value)
{
    hipLaunchAttributeValue *kept = attribute_of(node, which);
    if (!kept || !value)
        return answer(hipErrorInvalidValue);
    *kept = *value;
    return hipSuccess;
}

hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, hipLaunchAttributeID which, hipLaunchAttributeValue *value)
{
    const hipLaunchAttributeValue *kept = attribute_of(node, which);
    if (!kept || !value)
        return answer(hipErrorInvalidValue);
    *value = *kept;
    return hipSuccess;
}

hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to)
{
    if (!attribute_of(from, 0) || !attribute_of(to, 0))
        return answer(hipErrorInvalidValue);
    memcpy(to->attributes, from->attributes, sizeof to->attributes);
    return hipSuccess;
}

/* ---- copies ---- */

static hipError_t rect_work(const hipMemcpy3DParms *p, Work *out)
{
    *out = (Work){.kind = WORK_COPY_RECT};
    return p ? rect_from_parameters(p, &out->rect) : hipErrorInvalidValue;
}

static hipError_t copy_work(void *to, const void *from, size_t bytes, hipMemcpyKind kind, Work *out)
{
    *out = (Work){.kind = WORK_COPY, .copy = {to, from, bytes, kind}};
    return to && from && bytes ? hipSuccess : hipErrorInvalidValue;
}

/* `to_symbol`: `memory` is copied to the symbol, else the other way. */
static hipError_t symbol_work(const void *symbol, const void *memory, size_t bytes, size_t offset, hipMemcpyKind kind,
                              bool to_symbol, Work *out)
{
    void *address;
    hipError_t error = symbol_range(symbol, bytes, offset, &address);
    if (error != hipSuccess)
        return error;
    return to_symbol ? copy_work(address, memory, bytes, kind, out)
                     : copy_work((void *)(uintptr_t)memory, address, bytes, kind, out);
}

hipError_t hipGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                 const hipMemcpy3DParms *p)
{
    Work w;
    hipError_t made = rect_work(p, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, void *to,
                                   const void *from, size_t bytes, hipMemcpyKind kind)
{
    Work w;
    hipError_t made = copy_work(to, from, bytes, kind, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                         const void *symbol, const void *from, size_t bytes, size_t offset,
                                         hipMemcpyKind kind)
{
    Work w;
    hipError_t made = symbol_work(symbol, from, bytes, offset, kind, true, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, void *to,
                                           const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    Work w;
    hipError_t made = symbol_work(symbol, to, bytes, offset, kind, false, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms *p)
{
    if (!node || !p || family(node->work.kind) != WORK_COPY)
        return answer(hipErrorInvalidValue);
    const CopyWork *c = &node->work.copy;
    if (node->work.kind == WORK_COPY_RECT)
        *p = node->work.rect.parameters;
    else
        *p = (hipMemcpy3DParms){
            .srcPtr = {(void *)(uintptr_t)c->from, c->bytes, c->bytes, 1},
            .dstPtr = {c->to, c->bytes, c->bytes, 1},
            .extent = {c->bytes, 1, 1},
            .kind = c->kind,
        };
    return hipSuccess;
}

hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms *p)
{
    Work w;
    hipError_t made = rect_work(p, &w);
    return set(node, made, &w);
}

hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void *to, const void *from, size_t bytes,
                                         hipMemcpyKind kind)
{
    Work w;
    hipError_t made = copy_work(to, from, bytes, kind, &w);
    return set(node, made, &w);
}

hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void *symbol, const void *from, size_t bytes,
                                               size_t offset, hipMemcpyKind kind)
{
    Work w;
    hipError_t made = symbol_work(symbol, from, bytes, offset, kind, true, &w);
    return set(node, made, &w);
}

hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void *to, const void *symbol, size_t bytes,
                                                 size_t offset, hipMemcpyKind kind)
{
    Work w;
    hipError_t made = symbol_work(symbol, to, bytes, offset, kind, false, &w);
    return set(node, made, &w);
}

hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipMemcpy3DParms *p)
{
    return hipGraphMemcpyNodeSetParams(node_in(exec, node), p);
}

hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void *to, const void *from,
                                             size_t bytes, hipMemcpyKind kind)
{
    return hipGraphMemcpyNodeSetParams1D(node_in(exec, node), to, from, bytes, kind);
}

hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t exec, hipGraphNode_t node, const void *symbol,
                                                   const void *from, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    return hipGraphMemcpyNodeSetParamsToSymbol(node_in(exec, node), symbol, from, bytes, offset, kind);
}

hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t exec, hipGraphNode_t node, void *to,
                                                     const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    return hipGraphMemcpyNodeSetParamsFromSymbol(node_in(exec, node), to, symbol, bytes, offset, kind);
}

/* ---- fills ---- */

static hipError_t fill_work(const hipMemsetParams *p, Work *out)
{
    *out = (Work){.kind = WORK_FILL};
    return p ? fill_from_parameters(p, &out->fill) : hipErrorInvalidValue;
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                 const hipMemsetParams *p)
{
    Work w;
    hipError_t made = fill_work(p, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *p)
{
    if (!node || !p || node->work.kind != WORK_FILL)
        return answer(hipErrorInvalidValue);
    const FillWork *f = &node->work.fill;
    *p = (hipMemsetParams){.dst = f->to, .elementSize = (unsigned)f->element_bytes, .height = f->height,
                           .pitch = f->pitch, .value = f->value, .width = f->width};
    return hipSuccess;
}

hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams *p)
{
    Work w;
    hipError_t made = fill_work(p, &w);
    return set(node, made, &w);
}

hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipMemsetParams *p)
{
    return hipGraphMemsetNodeSetParams(node_in(exec, node), p);
}

/* ---- host functions, empty nodes, graphs within graphs ---- */

static hipError_t host_work(const hipHostNodeParams *p, Work *out)
{
    *out = (Work){.kind = WORK_HOST};
    if (p)
        out->host = *p;
    return p && p->fn ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipGraphAddHostNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                               const hipHostNodeParams *p)
{
    Work w;
    hipError_t made = host_work(p, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams *p)
{
    if (!node || !p || node->work.kind != WORK_HOST)
        return answer(hipErrorInvalidValue);
    *p = node->work.host;
    return hipSuccess;
}

hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams *p)
{
    Work w;
    hipError_t made = host_work(p, &w);
    return set(node, made, &w);
}

hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipHostNodeParams *p)
{
    return hipGraphHostNodeSetParams(node_in(exec, node), p);
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count)
{
    const Work w = {.kind = WORK_EMPTY};
    return node_add(node, graph, needs, count, hipSuccess, &w);
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, hipGraph_t child)
{
    const Work w = {.kind = WORK_GRAPH, .graph = child};
    return node_add(node, graph, needs, count, child && child != graph ? hipSuccess : hipErrorInvalidValue, &w);
}

hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t *graph)
{
    if (!node || !graph || node->work.kind != WORK_GRAPH)
        return answer(hipErrorInvalidValue);
    *graph = node->work.graph;
    return hipSuccess;
}

hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t child)
{
    const Work w = {.kind = WORK_GRAPH, .graph = child};
    return set(node_in(exec, node), child ? hipSuccess : hipErrorInvalidValue, &w);
}

/* ---- events ---- */

static hipError_t add_event(hipGraphNode_t *node, Graph *graph, Needs needs, size_t count, hipEvent_t event, WorkKind kind)
{
    const Work w = {.kind = kind, .event = event};
    return node_add(node, graph, needs, count, event_find(event) ? hipSuccess : hipErrorInvalidValue, &w);
}

static hipError_t get_event(const Node *node, hipEvent_t *event, WorkKind kind)
{
    if (!node || !event || node->work.kind != kind)
        return answer(hipErrorInvalidValue);
    *event = node->work.event;
    return hipSuccess;
}

static hipError_t set_event(Node *node, hipEvent_t event, WorkKind kind)
{
    const Work w = {.kind = kind, .event = event};
    return set(node, event_find(event) ? hipSuccess : hipErrorInvalidValue, &w);
}

#define EVENT_NODES(Name, KIND)                                                                                       \
    hipError_t hipGraphAdd##Name##Node(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,              \
                                       hipEvent_t event)                                                              \
    {                                                                                                                 \
        return add_event(node, graph, needs, count, event, KIND);                                                     \
    }                                                                                                                 \
    hipError_t hipGraph##Name##NodeGetEvent(hipGraphNode_t node, hipEvent_t *event)                                   \
    {                                                                                                                 \
        return get_event(node, event, KIND);                                                                          \
    }                                                                                                                 \
    hipError_t hipGraph##Name##NodeSetEvent(hipGraphNode_t node, hipEvent_t event)                                    \
    {                                                                                                                 \
        return set_event(node, event, KIND);                                                                          \
    }                                                                                                                 \
    hipError_t hipGraphExec##Name##NodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event)           \
    {                                                                                                                 \
        return set_event(node_in(exec, node), event, KIND);                                                     \
    }
EVENT_NODES(EventRecord, WORK_RECORD)
EVENT_NODES(EventWait, WORK_WAIT)

/* ---- memory: the block lives from the making of its node until the program frees it, or to the end ---- */

hipError_t hipGraphAddMemAllocNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                   hipMemAllocNodeParams *p)
{
    if (!p || !p->bytesize || p->poolProps.allocType != hipMemAllocationTypePinned)
        return answer(hipErrorInvalidValue);
    hipError_t error = allocation_new(&p->dptr, p->bytesize, ALLOCATION_DEVICE, 0);
    const Work w = {.kind = WORK_ALLOCATE, .allocate = *p};
    error = node_add(node, graph, needs, count, error, &w);
    if (error != hipSuccess)
        allocation_end(p->dptr);
    return error;
}

hipError_t hipGraphAddMemFreeNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, void *pointer)
{
    const Work w = {.kind = WORK_RELEASE, .released = pointer};
    return node_add(node, graph, needs, count, pointer ? hipSuccess : hipErrorInvalidValue, &w);
}

hipError_t hipDrvGraphAddMemFreeNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                     hipDeviceptr_t pointer)
{
    return hipGraphAddMemFreeNode(node, graph, needs, count, pointer);
}

hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams *p)
{
    if (!node || !p || node->work.kind != WORK_ALLOCATE)
        return answer(hipErrorInvalidValue);
    *p = node->work.allocate;
    return hipSuccess;
}

hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void *pointer)
{
    if (!node || !pointer || node->work.kind != WORK_RELEASE)
        return answer(hipErrorInvalidValue);
    memcpy(pointer, &node->work.released, sizeof node->work.released);
    return hipSuccess;
}

/* ---- any kind ---- */

static hipError_t any_work(const hipGraphNodeParams *p, Work *out)
{
    switch (p->type) {
    case hipGraphNodeTypeKernel: return kernel_work(&p->kernel, out);
    case hipGraphNodeTypeMemcpy: return rect_work(&p->memcpy.copyParams, out);
    case hipGraphNodeTypeMemset: return fill_work(&p->memset, out);
    case hipGraphNodeTypeHost: return host_work(&p->host, out);
    case hipGraphNodeTypeEmpty: *out = (Work){.kind = WORK_EMPTY}; return hipSuccess;
    case hipGraphNodeTypeGraph: *out = (Work){.kind = WORK_GRAPH, .graph = p->graph.graph}; return hipSuccess;
    case hipGraphNodeTypeWaitEvent: *out = (Work){.kind = WORK_WAIT, .event = p->eventWait.event}; return hipSuccess;
    case hipGraphNodeTypeEventRecord:
        *out = (Work){.kind = WORK_RECORD, .event = p->eventRecord.event};
        return hipSuccess;
    case hipGraphNodeTypeMemFree: *out = (Work){.kind = WORK_RELEASE, .released = p->free.dptr}; return hipSuccess;
    default: return refuse("hipGraphNodeParams", "there are no graph nodes of this type here");
    }
}

hipError_t hipGraphAddNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, hipGraphNodeParams *p)
{
    if (!p)
        return answer(hipErrorInvalidValue);
    if (p->type == hipGraphNodeTypeMemAlloc)
        return hipGraphAddMemAllocNode(node, graph, needs, count, &p->alloc);
    Work w = {.kind = WORK_EMPTY};
    hipError_t made = any_work(p, &w);
    return node_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphNodeSetParams(hipGraphNode_t node, hipGraphNodeParams *p)
{
    Work w = {.kind = WORK_EMPTY};
    hipError_t made = p ? any_work(p, &w) : hipErrorInvalidValue;
    return set(node, made, &w);
}

hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeParams *p)
{
    return hipGraphNodeSetParams(node_in(exec, node), p);
}
