/*
 * The nodes of graphs by kind: adding one, reading its parameters, changing them in a graph or in an executable one. Every
 * kind of parameters is converted to work first; the rest is the same for all kinds.
 */
#include "hip/graphs/nodes.h"

#include "hip/code/registered.h"
#include "hip/copies/copy_2d_3d.h"
#include "hip/copies/fill.h"
#include "hip/launch/launch.h"
#include "hip/memory/allocation.h"
#include "hip/runtime/answer.h"
#include "hip/runtime/unsupported.h"
#include "hip/streams/event.h"
#include "hip/work/values.h"

#include <string.h>

typedef const hipGraphNode_t *Needs;

hipError_t nodes_add(hipGraphNode_t *out, Graph *graph, Needs needs, size_t count, hipError_t made, const Work *w)
{
    if (!out || !graph || (count && !needs))
        return answer(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        if (!needs[i] || needs[i]->graph != graph)
            return answer(hipErrorInvalidValue);
    const NodeList list = {(Node **)(uintptr_t)needs, (u32)count};
    return answer(made == hipSuccess ? graph_add(graph, &list, w, out) : made);
}

/* Copies in one and in three dimensions are one kind of node. */
static WorkKind family(WorkKind kind) { return kind == WORK_COPY_2D_3D ? WORK_COPY : kind; }

hipError_t nodes_set(Node *n, const Work *w)
{
    Work kept;
    if (!n || family(n->work.kind) != family(w->kind))
        return hipErrorInvalidValue;
    hipError_t error = graph_keep_work(w, &kept);
    if (error != hipSuccess)
        return error;
    graph_drop_work(&n->work);
    n->work = kept;
    if (kept.kind == WORK_KERNEL)
        n->work.kernel.shape.cooperative = n->attributes.cooperative != 0;
    return hipSuccess;
}

static hipError_t set(Node *n, hipError_t made, const Work *w) { return answer(made == hipSuccess ? nodes_set(n, w) : made); }

Node *nodes_in(hipGraphExec_t exec, const Node *node)
{
    return exec && node ? graph_copy_of(exec->graph, node) : NULL;
}

/* The calls for a kind of node: its parameters are converted to work by `make`, and back by `give`. */
#define NODES(Name, KIND, make, give, ...)                                                                            \
    hipError_t hipGraphAdd##Name##Node(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,             \
                                       const __VA_ARGS__ *p)                                                          \
    {                                                                                                                 \
        Work w;                                                                                                       \
        hipError_t made = make(p, &w);                                                                                \
        return nodes_add(node, graph, needs, count, made, &w);                                                         \
    }                                                                                                                 \
    hipError_t hipGraph##Name##NodeGetParams(hipGraphNode_t node, __VA_ARGS__ *p)                                     \
    {                                                                                                                 \
        if (!node || !p || family(node->work.kind) != KIND)                                                           \
            return answer(hipErrorInvalidValue);                                                                      \
        *p = give(&node->work);                                                                                       \
        return hipSuccess;                                                                                            \
    }                                                                                                                 \
    static hipError_t set_##make(Node *node, const __VA_ARGS__ *p)                                                    \
    {                                                                                                                 \
        Work w;                                                                                                       \
        hipError_t made = make(p, &w);                                                                                \
        return set(node, made, &w);                                                                                   \
    }

/* The calls that change them, in a graph and in an executable one. Versions of the headers differ in what is const. */
#define SETTERS(Name, make, Parameters, ExecParameters)                                                               \
    hipError_t hipGraph##Name##NodeSetParams(hipGraphNode_t node, Parameters *p) { return set_##make(node, p); }      \
    hipError_t hipGraphExec##Name##NodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, ExecParameters *p)         \
    {                                                                                                                 \
        return set_##make(nodes_in(exec, node), p);                                                                    \
    }

/* ---- kernels ---- */

static hipError_t kernel_work(const hipKernelNodeParams *p, Work *out)
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

static hipKernelNodeParams kernel_parameters(const Work *w)
{
    const KernelWork *k = &w->kernel;
    const LaunchShape *s = &k->shape;
    return (hipKernelNodeParams){
        .func = k->handle,
        .gridDim = {s->grid[0] / s->block[0], s->grid[1] / s->block[1], s->grid[2] / s->block[2]},
        .blockDim = {s->block[0], s->block[1], s->block[2]},
        .sharedMemBytes = s->dynamic_lds_bytes,
        .kernelParams = k->parameters,
        .extra = k->extra,
    };
}

NODES(Kernel, WORK_KERNEL, kernel_work, kernel_parameters, hipKernelNodeParams)
SETTERS(Kernel, kernel_work, const hipKernelNodeParams, const hipKernelNodeParams)

static bool is_kernel(const Node *node) { return node && node->work.kind == WORK_KERNEL; }

hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, hipLaunchAttributeID which,
                                          const hipLaunchAttributeValue *value)
{
    if (!is_kernel(node) || !attribute_set(&node->attributes, (int)which, value))
        return answer(hipErrorInvalidValue);
    node->work.kernel.shape.cooperative = node->attributes.cooperative != 0;
    return hipSuccess;
}

hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, hipLaunchAttributeID which, hipLaunchAttributeValue *value)
{
    bool known = is_kernel(node) && attribute_get(&node->attributes, (int)which, value);
    return answer(known ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to)
{
    if (!is_kernel(from) || !is_kernel(to))
        return answer(hipErrorInvalidValue);
    to->attributes = from->attributes;
    to->work.kernel.shape.cooperative = from->work.kernel.shape.cooperative;
    return hipSuccess;
}

/* ---- copies ---- */

static hipError_t box_work(const hipMemcpy3DParms *p, Work *out)
{
    *out = (Work){.kind = WORK_COPY_2D_3D};
    return p ? copy_2d_3d_from_parameters(p, &out->copy_2d_3d) : hipErrorInvalidValue;
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
    hipError_t error = registered_range(symbol, bytes, offset, &address);
    if (error != hipSuccess)
        return error;
    return to_symbol ? copy_work(address, memory, bytes, kind, out)
                     : copy_work((void *)(uintptr_t)memory, address, bytes, kind, out);
}

static hipMemcpy3DParms copy_parameters(const Work *w)
{
    const CopyWork *c = &w->copy;
    if (w->kind == WORK_COPY_2D_3D)
        return w->copy_2d_3d.parameters;
    return (hipMemcpy3DParms){
        .srcPtr = {(void *)(uintptr_t)c->from, c->bytes, c->bytes, 1},
        .dstPtr = {c->to, c->bytes, c->bytes, 1},
        .extent = {c->bytes, 1, 1},
        .kind = c->kind,
    };
}

NODES(Memcpy, WORK_COPY, box_work, copy_parameters, hipMemcpy3DParms)
SETTERS(Memcpy, box_work, const hipMemcpy3DParms, hipMemcpy3DParms)

/* Nodes that copy one range: the parameters of the calls, and the work that they make. */
#define LINES(How, work, ...)                                                                                         \
    hipError_t hipGraphAddMemcpyNode##How(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,          \
                                          __VA_ARGS__, hipMemcpyKind kind)                                            \
    {                                                                                                                 \
        Work w;                                                                                                       \
        hipError_t made = work;                                                                                       \
        return nodes_add(node, graph, needs, count, made, &w);                                                         \
    }                                                                                                                 \
    hipError_t hipGraphMemcpyNodeSetParams##How(hipGraphNode_t node, __VA_ARGS__, hipMemcpyKind kind)                 \
    {                                                                                                                 \
        Work w;                                                                                                       \
        hipError_t made = work;                                                                                       \
        return set(node, made, &w);                                                                                   \
    }                                                                                                                 \
    hipError_t hipGraphExecMemcpyNodeSetParams##How(hipGraphExec_t exec, hipGraphNode_t node, __VA_ARGS__,            \
                                                    hipMemcpyKind kind)                                               \
    {                                                                                                                 \
        Work w;                                                                                                       \
        hipError_t made = work;                                                                                       \
        return set(nodes_in(exec, node), made, &w);                                                                    \
    }
LINES(1D, copy_work(to, from, bytes, kind, &w), void *to, const void *from, size_t bytes)
LINES(ToSymbol, symbol_work(symbol, from, bytes, offset, kind, true, &w), const void *symbol, const void *from,
      size_t bytes, size_t offset)
LINES(FromSymbol, symbol_work(symbol, to, bytes, offset, kind, false, &w), void *to, const void *symbol, size_t bytes,
      size_t offset)

/* ---- fills, host functions, waits for values and writes of them ---- */

static hipError_t fill_work(const hipMemsetParams *p, Work *out)
{
    *out = (Work){.kind = WORK_FILL};
    return p ? fill_from_parameters(p, &out->fill) : hipErrorInvalidValue;
}

static hipMemsetParams fill_parameters(const Work *w)
{
    const FillWork *f = &w->fill;
    return (hipMemsetParams){.dst = f->to, .elementSize = (unsigned)f->element_bytes, .height = f->height,
                             .pitch = f->pitch, .value = f->value, .width = f->width};
}

NODES(Memset, WORK_FILL, fill_work, fill_parameters, hipMemsetParams)
SETTERS(Memset, fill_work, const hipMemsetParams, const hipMemsetParams)

static hipError_t host_work(const hipHostNodeParams *p, Work *out)
{
    *out = (Work){.kind = WORK_HOST};
    if (p)
        out->host = *p;
    return p && p->fn ? hipSuccess : hipErrorInvalidValue;
}

static hipHostNodeParams host_parameters(const Work *w) { return w->host; }

NODES(Host, WORK_HOST, host_work, host_parameters, hipHostNodeParams)
SETTERS(Host, host_work, const hipHostNodeParams, const hipHostNodeParams)

static hipError_t values_work(const hipBatchMemOpNodeParams *p, Work *out)
{
    *out = (Work){.kind = WORK_VALUES};
    if (!p || p->flags)
        return hipErrorInvalidValue;
    out->values = (ValuesWork){p->paramArray, p->count};
    return values_check(p->paramArray, p->count);
}

static hipBatchMemOpNodeParams values_parameters(const Work *w)
{
    return (hipBatchMemOpNodeParams){.count = w->values.count,
                                     .paramArray = (hipStreamBatchMemOpParams *)(uintptr_t)w->values.list};
}

NODES(BatchMemOp, WORK_VALUES, values_work, values_parameters, hipBatchMemOpNodeParams)
SETTERS(BatchMemOp, values_work, hipBatchMemOpNodeParams, const hipBatchMemOpNodeParams)

/* ---- empty nodes, graphs within graphs ---- */

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count)
{
    const Work w = {.kind = WORK_EMPTY};
    return nodes_add(node, graph, needs, count, hipSuccess, &w);
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, hipGraph_t child)
{
    const Work w = {.kind = WORK_GRAPH, .graph = child};
    return nodes_add(node, graph, needs, count, child && child != graph ? hipSuccess : hipErrorInvalidValue, &w);
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
    return set(nodes_in(exec, node), child ? hipSuccess : hipErrorInvalidValue, &w);
}

/* ---- events ---- */

static hipError_t add_event(hipGraphNode_t *node, Graph *graph, Needs needs, size_t count, hipEvent_t event, WorkKind kind)
{
    const Work w = {.kind = kind, .event = event};
    return nodes_add(node, graph, needs, count, event_find(event) ? hipSuccess : hipErrorInvalidValue, &w);
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
        return set_event(nodes_in(exec, node), event, KIND);                                                     \
    }
EVENT_NODES(EventRecord, WORK_RECORD)
EVENT_NODES(EventWait, WORK_WAIT)

/* ---- memory: the block exists from the creation of its node until the program frees it ---- */

hipError_t hipGraphAddMemAllocNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count,
                                   hipMemAllocNodeParams *p)
{
    if (!p || !p->bytesize || p->poolProps.allocType != hipMemAllocationTypePinned)
        return answer(hipErrorInvalidValue);
    hipError_t error = allocation_new(&p->dptr, p->bytesize, ALLOCATION_DEVICE, 0);
    const Work w = {.kind = WORK_ALLOCATE, .allocate = *p};
    error = nodes_add(node, graph, needs, count, error, &w);
    if (error != hipSuccess)
        allocation_end(p->dptr);
    return error;
}

hipError_t hipGraphAddMemFreeNode(hipGraphNode_t *node, hipGraph_t graph, Needs needs, size_t count, void *pointer)
{
    const Work w = {.kind = WORK_RELEASE, .released = pointer};
    return nodes_add(node, graph, needs, count, pointer ? hipSuccess : hipErrorInvalidValue, &w);
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
    case hipGraphNodeTypeMemcpy: return box_work(&p->memcpy.copyParams, out);
    case hipGraphNodeTypeMemset: return fill_work(&p->memset, out);
    case hipGraphNodeTypeHost: return host_work(&p->host, out);
    case hipGraphNodeTypeEmpty: *out = (Work){.kind = WORK_EMPTY}; return hipSuccess;
    case hipGraphNodeTypeGraph: *out = (Work){.kind = WORK_GRAPH, .graph = p->graph.graph}; return hipSuccess;
    case hipGraphNodeTypeWaitEvent: *out = (Work){.kind = WORK_WAIT, .event = p->eventWait.event}; return hipSuccess;
    case hipGraphNodeTypeEventRecord:
        *out = (Work){.kind = WORK_RECORD, .event = p->eventRecord.event};
        return hipSuccess;
    case hipGraphNodeTypeMemFree: *out = (Work){.kind = WORK_RELEASE, .released = p->free.dptr}; return hipSuccess;
    default: return unsupported("hipGraphNodeParams", "graph nodes of this type are not emulated");
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
    return nodes_add(node, graph, needs, count, made, &w);
}

hipError_t hipGraphNodeSetParams(hipGraphNode_t node, hipGraphNodeParams *p)
{
    Work w = {.kind = WORK_EMPTY};
    hipError_t made = p ? any_work(p, &w) : hipErrorInvalidValue;
    return set(node, made, &w);
}

hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeParams *p)
{
    return hipGraphNodeSetParams(nodes_in(exec, node), p);
}
