/* The driver API's calls for nodes of graphs. */
#include "hip/copies/copy_2d_3d.h"
#include "hip/copies/fill.h"
#include "hip/graphs/nodes.h"
#include "hip/runtime/answer.h"

static hipError_t copy_work(const HIP_MEMCPY3D *p, Work *out)
{
    *out = (Work){.kind = WORK_COPY_2D_3D};
    return copy_2d_3d_from_driver(p, &out->copy_2d_3d);
}

/* The two structures have the same fields. */
static hipError_t fill_work(const HIP_MEMSET_NODE_PARAMS *p, Work *out)
{
    *out = (Work){.kind = WORK_FILL};
    if (!p)
        return hipErrorInvalidValue;
    const hipMemsetParams same = {.dst = p->dst, .elementSize = p->elementSize, .height = p->height, .pitch = p->pitch,
                                  .value = p->value, .width = p->width};
    return fill_from_parameters(&same, &out->fill);
}

hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *needs, size_t count,
                                    const HIP_MEMCPY3D *p, hipCtx_t context)
{
    Work w;
    (void)context;
    hipError_t made = copy_work(p, &w);
    return nodes_add(node, graph, needs, count, made, &w);
}

hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *needs, size_t count,
                                    const HIP_MEMSET_NODE_PARAMS *p, hipCtx_t context)
{
    Work w;
    (void)context;
    hipError_t made = fill_work(p, &w);
    return nodes_add(node, graph, needs, count, made, &w);
}

hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node, const HIP_MEMCPY3D *p)
{
    Work w;
    hipError_t made = copy_work(p, &w);
    return answer(made == hipSuccess ? nodes_set(node, &w) : made);
}

hipError_t hipDrvGraphMemcpyNodeGetParams(hipGraphNode_t node, HIP_MEMCPY3D *p)
{
    if (!node || !p || node->work.kind != WORK_COPY_2D_3D)
        return answer(hipErrorInvalidValue);
    const Copy2D3DWork *r = &node->work.copy_2d_3d;
    *p = (HIP_MEMCPY3D){
        .srcMemoryType = hipMemoryTypeUnified, .srcDevice = (hipDeviceptr_t)(uintptr_t)r->from, .srcPitch = r->from_pitch,
        .srcHeight = r->from_slice_bytes / r->from_pitch, .dstMemoryType = hipMemoryTypeUnified,
        .dstDevice = (hipDeviceptr_t)r->to, .dstPitch = r->to_pitch, .dstHeight = r->to_slice_bytes / r->to_pitch,
        .WidthInBytes = r->width, .Height = r->height, .Depth = r->depth,
    };
    return hipSuccess;
}

hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const HIP_MEMCPY3D *p,
                                              hipCtx_t context)
{
    (void)context;
    return hipDrvGraphMemcpyNodeSetParams(nodes_in(exec, node), p);
}

hipError_t hipDrvGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const HIP_MEMSET_NODE_PARAMS *p,
                                              hipCtx_t context)
{
    Work w;
    (void)context;
    hipError_t made = fill_work(p, &w);
    return answer(made == hipSuccess ? nodes_set(nodes_in(exec, node), &w) : made);
}
