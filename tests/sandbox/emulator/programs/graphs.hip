// Graphs: captured from two streams, built node by node, changed, cloned, updated, and graphs within graphs.
#include <hip/hip_cooperative_groups.h>

#include "expect.h"

#include <vector>

__global__ void add(int* data, int n, int amount) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += amount;
}

const int n = 300;
static int host[n], called;

static void count(void* by) { called += *static_cast<int*>(by); }

static int after(hipGraphExec_t exec, hipStream_t stream, int* data, int start) {
  HIP(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), start, n));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  int first = host[0];
  for (int i = 0; i < n; i++) EXPECT(host[i] == first);
  return first;
}

static void capture(int* data) {
  hipStream_t a, b;
  hipEvent_t fork, join;
  HIP(hipStreamCreate(&a));
  HIP(hipStreamCreate(&b));
  HIP(hipEventCreate(&fork));
  HIP(hipEventCreate(&join));
  HIP(hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
  add<<<4, 128, 0, a>>>(data, n, 1);
  HIP(hipEventRecord(fork, a));
  HIP(hipStreamWaitEvent(b, fork, 0));
  add<<<4, 128, 0, b>>>(data, n, 10);
  HIP(hipEventRecord(join, b));
  HIP(hipStreamWaitEvent(a, join, 0));
  hipStreamCaptureStatus status;
  HIP(hipStreamIsCapturing(b, &status));
  EXPECT(status == hipStreamCaptureStatusActive);
  EXPECT_ERROR(hipErrorStreamCaptureUnsupported, hipMalloc(reinterpret_cast<void**>(&status), 4));
  HIP(hipMemcpyAsync(host, data, sizeof host, hipMemcpyDeviceToHost, a));
  hipGraph_t graph;
  HIP(hipStreamEndCapture(a, &graph));
  EXPECT(host[0] == 0);  // nothing has run
  size_t nodes = 0, roots = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  HIP(hipGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT(nodes == 3 && roots == 1);
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphDestroy(graph));
  EXPECT(after(exec, a, data, 100) == 111);
  EXPECT(after(exec, b, data, 200) == 211);
  HIP(hipGraphExecDestroy(exec));

  HIP(hipStreamBeginCapture(a, hipStreamCaptureModeRelaxed));
  HIP(hipEventRecord(fork, a));
  HIP(hipStreamWaitEvent(b, fork, 0));
  add<<<4, 128, 0, b>>>(data, n, 10);
  EXPECT_ERROR(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(a, &graph));
}

static hipKernelNodeParams kernel(void** arguments) {
  hipKernelNodeParams p = {};
  p.func = reinterpret_cast<void*>(add);
  p.gridDim = dim3(4);
  p.blockDim = dim3(128);
  p.kernelParams = arguments;
  return p;
}

static void build(int* data) {
  hipGraph_t graph, copy, child;
  hipGraphNode_t fill, first, second, back, call, whole;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipGraphCreate(&graph, 0));
  hipMemsetParams zero = {};
  zero.dst = data, zero.elementSize = 4, zero.value = 5, zero.width = n, zero.height = 1;
  HIP(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
  int count_n = n, amount = 3, by = 2;
  void* arguments[] = {&data, &count_n, &amount};
  hipKernelNodeParams p = kernel(arguments);
  HIP(hipGraphAddKernelNode(&first, graph, &fill, 1, &p));
  amount = 20;  // the first node keeps its 3
  HIP(hipGraphAddKernelNode(&second, graph, &first, 1, &p));
  HIP(hipGraphAddMemcpyNode1D(&back, graph, &second, 1, host, data, sizeof host, hipMemcpyDeviceToHost));
  hipHostNodeParams host_call = {count, &by};
  HIP(hipGraphAddHostNode(&call, graph, &back, 1, &host_call));
  hipGraphNodeType type;
  HIP(hipGraphNodeGetType(call, &type));
  EXPECT(type == hipGraphNodeTypeHost);
  hipKernelNodeParams read;
  HIP(hipGraphKernelNodeGetParams(first, &read));
  EXPECT(*static_cast<int*>(read.kernelParams[2]) == 3 && read.gridDim.x == 4);

  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT(after(exec, stream, data, 0) == 28 && called == 2);
  amount = 100;
  HIP(hipGraphExecKernelNodeSetParams(exec, second, &p));
  EXPECT(after(exec, stream, data, 0) == 108 && called == 4);
  HIP(hipGraphNodeSetEnabled(exec, first, 0));
  EXPECT(after(exec, stream, data, 0) == 105);

  amount = 1000;
  HIP(hipGraphKernelNodeSetParams(first, &p));
  hipGraphNode_t bad;
  hipGraphExecUpdateResult result;
  HIP(hipGraphNodeSetEnabled(exec, first, 1));
  HIP(hipGraphExecUpdate(exec, graph, &bad, &result));
  EXPECT(after(exec, stream, data, 0) == 5 + 1000 + 20);

  HIP(hipGraphClone(&copy, graph));
  hipGraphNode_t found;
  HIP(hipGraphNodeFindInClone(&found, second, copy));
  HIP(hipGraphDestroyNode(found));
  EXPECT_ERROR(hipErrorGraphExecUpdateFailure, hipGraphExecUpdate(exec, copy, &bad, &result));

  HIP(hipGraphCreate(&child, 0));
  HIP(hipGraphAddChildGraphNode(&whole, child, nullptr, 0, graph));
  HIP(hipGraphAddEmptyNode(&found, child, &whole, 1));
  hipGraphExec_t outer;
  HIP(hipGraphInstantiate(&outer, child, nullptr, nullptr, 0));
  called = 0;
  EXPECT(after(outer, stream, data, 0) == 1025 && called == 2);

  HIP(hipGraphAddDependencies(graph, &call, &fill, 1));
  EXPECT_ERROR(hipErrorInvalidValue, hipGraphInstantiate(&outer, graph, nullptr, nullptr, 0));  // a circle
}

// Values that a graph waits for and writes, as a node of its own and as what a stream was asked.
static void values() {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphNode_t node;
  hipGraphExec_t exec;
  unsigned* flags;
  HIP(hipStreamCreate(&stream));
  HIP(hipExtMallocWithFlags(reinterpret_cast<void**>(&flags), 8, hipMallocSignalMemory));
  HIP(hipMemset(flags, 0, 8));
  hipStreamBatchMemOpParams list[2] = {};
  list[0].waitValue.operation = hipStreamMemOpWaitValue32, list[0].waitValue.address = flags;
  list[0].waitValue.value = 3, list[0].waitValue.flags = hipStreamWaitValueGte;
  list[1].writeValue.operation = hipStreamMemOpWriteValue32, list[1].writeValue.address = flags + 1, list[1].writeValue.value = 8;
  hipBatchMemOpNodeParams p = {nullptr, 2, list, 0}, read;
  HIP(hipGraphCreate(&graph, 0));
  HIP(hipGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &p));
  HIP(hipGraphBatchMemOpNodeGetParams(node, &read));
  EXPECT(read.count == 2 && read.paramArray != list && read.paramArray[1].writeValue.value == 8);
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  list[1].writeValue.value = 9;
  HIP(hipGraphExecBatchMemOpNodeSetParams(exec, node, &p));
  HIP(hipGraphLaunch(exec, stream));
  EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(stream));
  EXPECT(reinterpret_cast<volatile unsigned*>(flags)[1] == 0);
  reinterpret_cast<volatile unsigned*>(flags)[0] = 4;
  HIP(hipStreamSynchronize(stream));
  EXPECT(flags[1] == 9);
  p.count = 0;
  EXPECT_ERROR(hipErrorInvalidValue, hipGraphBatchMemOpNodeSetParams(node, &p));

  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  HIP(hipStreamBatchMemOp(stream, 2, list, 0));
  HIP(hipStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 1);
}

__global__ void meet(int* arrived, int* seen) {
  if (threadIdx.x == 0) atomicAdd(arrived, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) seen[blockIdx.x] = *arrived;
}

// Attributes stay with a node, and one of them decides how its kernel is launched.
static void attributes() {
  int *arrived, *seen;
  hipGraph_t graph;
  hipGraphNode_t node, other;
  hipGraphExec_t exec;
  HIP(hipMallocManaged(&arrived, 128));
  seen = arrived + 1;
  *arrived = 0;
  void* arguments[] = {&arrived, &seen};
  hipKernelNodeParams p = {};
  p.func = reinterpret_cast<void*>(meet), p.gridDim = dim3(20), p.blockDim = dim3(64), p.kernelParams = arguments;
  HIP(hipGraphCreate(&graph, 0));
  HIP(hipGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  hipLaunchAttributeValue value = {}, read = {};
  value.cooperative = 1;
  HIP(hipGraphKernelNodeSetAttribute(node, hipLaunchAttributeCooperative, &value));
  value.priority = -1;
  HIP(hipGraphKernelNodeSetAttribute(node, hipLaunchAttributePriority, &value));
  HIP(hipGraphKernelNodeSetParams(node, &p));
  HIP(hipGraphKernelNodeGetAttribute(node, hipLaunchAttributePriority, &read));
  EXPECT(read.priority == -1);
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, nullptr));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 20; i++) EXPECT(seen[i] == 20);
  p.func = reinterpret_cast<void*>(add);
  HIP(hipGraphAddEmptyNode(&other, graph, nullptr, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipGraphKernelNodeCopyAttributes(node, other));
}

// A launch has copied pageable memory when it returns, as AMD's runtime does; nothing here waits for the stream.
static void pageable() {
  const int many = 1 << 20;
  std::vector<int> seen(many);
  int* data;
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamCreate(&stream));
  HIP(hipMalloc(&data, many * sizeof(int)));
  HIP(hipMemset(data, 0, many * sizeof(int)));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  add<<<many / 256, 256, 0, stream>>>(data, many, 3);
  HIP(hipMemcpyAsync(seen.data(), data, many * sizeof(int), hipMemcpyDeviceToHost, stream));
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, stream));
  EXPECT(seen.front() == 3 && seen.back() == 3);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(stream));
  HIP(hipFree(data));
}

int main() {
  int* data;
  HIP(hipMalloc(&data, n * sizeof(int)));
  capture(data);
  build(data);
  values();
  attributes();
  pageable();
  return pass();
}
