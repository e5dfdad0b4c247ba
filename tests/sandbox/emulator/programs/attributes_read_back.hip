// What programs set for memory, streams and graphs is read back as from AMD's runtime.
#include "expect.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

__global__ void scale(float* data) { data[threadIdx.x] *= 2; }
static void called(void*) {}

static void masks_of_units() {
  const unsigned asked[] = {0x80000005, 0, 3}, none = 0, far = 1;
  hipStream_t masked, short_one, of_none, plain;
  int units;
  HIP(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
  std::vector<unsigned> all((units + 31) / 32, ~0u), seen(all.size() + 1, 77);
  if (units % 32) all.back() = (1u << units % 32) - 1;
  EXPECT_ERROR(hipErrorInvalidHandle, hipExtStreamCreateWithCUMask(nullptr, 0, nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipExtStreamCreateWithCUMask(&masked, 0, asked));
  EXPECT_ERROR(hipErrorInvalidValue, hipExtStreamCreateWithCUMask(&masked, 1, nullptr));
  HIP(hipExtStreamCreateWithCUMask(&masked, 3, asked));
  HIP(hipExtStreamCreateWithCUMask(&short_one, 1, &far));
  HIP(hipExtStreamCreateWithCUMask(&of_none, 1, &none));
  HIP(hipStreamCreate(&plain));
  auto get = [&](hipStream_t s) {
    seen.assign(all.size() + 1, 77);
    HIP(hipExtStreamGetCUMask(s, seen.size(), seen.data()));
    EXPECT(seen[all.size()] == 77);  // no word more than there are units for
  };
  get(masked);
  for (size_t i = 0; i < 3; i++) EXPECT(seen[i] == (asked[i] & all[i]));
  get(short_one);
  EXPECT(seen[0] == 1 && seen[1] == 77);
  for (hipStream_t s : {of_none, plain, static_cast<hipStream_t>(nullptr), hipStreamPerThread}) {
    get(s);
    for (size_t i = 0; i < all.size(); i++) EXPECT(seen[i] == all[i]);
  }
  EXPECT_ERROR(hipErrorInvalidValue, hipExtStreamGetCUMask(masked, all.size() - 1, seen.data()));
  EXPECT_ERROR(hipErrorInvalidValue, hipExtStreamGetCUMask(masked, all.size(), nullptr));
  for (hipStream_t s : {masked, short_one, of_none, plain}) HIP(hipStreamDestroy(s));
}

constexpr size_t PAGE = 4096;

static int told(hipMemRangeAttribute which, char* at, size_t bytes) {
  int value = 99;
  HIP(hipMemRangeGetAttribute(&value, sizeof value, which, at, bytes));
  return value;
}

static void advice_is_of_pages() {
  const auto location = hipMemRangeAttributePreferredLocation, prefetched = hipMemRangeAttributeLastPrefetchLocation;
  char* data;
  HIP(hipMallocManaged(reinterpret_cast<void**>(&data), 4 * PAGE));
  HIP(hipMemAdvise(data + PAGE + 5, 1, hipMemAdviseSetReadMostly, 99));  // for this advice no device matters
  EXPECT(told(hipMemRangeAttributeReadMostly, data + PAGE, PAGE) == 1);
  EXPECT(told(hipMemRangeAttributeReadMostly, data, 4 * PAGE) == 0);
  EXPECT(told(hipMemRangeAttributeReadMostly, data + 2 * PAGE, 1) == 0);
  HIP(hipMemAdvise(data, 2 * PAGE, hipMemAdviseSetPreferredLocation, 0));
  HIP(hipMemAdvise(data + 2 * PAGE, 2 * PAGE, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
  EXPECT(told(location, data, 2 * PAGE) == 0 && told(location, data + 3 * PAGE, 1) == hipCpuDeviceId);
  EXPECT(told(location, data + PAGE, 2 * PAGE) == hipInvalidDeviceId);  // they differ
  HIP(hipMemPrefetchAsync(data, PAGE, 0, nullptr));
  EXPECT(told(prefetched, data, PAGE) == 0 && told(prefetched, data, PAGE + 1) == hipInvalidDeviceId);
  EXPECT(told(hipMemRangeAttributeCoherencyMode, data, 4 * PAGE) == hipMemRangeCoherencyModeFineGrain);
  HIP(hipMemAdvise(data, PAGE, hipMemAdviseSetCoarseGrain, 0));
  EXPECT(told(hipMemRangeAttributeCoherencyMode, data, PAGE) == hipMemRangeCoherencyModeCoarseGrain);
  EXPECT(told(hipMemRangeAttributeCoherencyMode, data, 2 * PAGE) == hipMemRangeCoherencyModeIndeterminate);
  HIP(hipMemAdvise(data, 4 * PAGE, hipMemAdviseSetAccessedBy, hipCpuDeviceId));  // is never listed
  HIP(hipMemAdvise(data, 4 * PAGE, hipMemAdviseSetAccessedBy, 0));
  HIP(hipMemAdvise(data + PAGE, 1, hipMemAdviseUnsetAccessedBy, 0));
  EXPECT(told(hipMemRangeAttributeAccessedBy, data, PAGE) == 0);
  EXPECT(told(hipMemRangeAttributeAccessedBy, data, 2 * PAGE) == hipInvalidDeviceId);
  HIP(hipFree(data));
}

static void wrong_questions_of_ranges() {
  char *data, *of_device;
  int one[2];
  HIP(hipMallocManaged(reinterpret_cast<void**>(&data), PAGE));
  HIP(hipMalloc(reinterpret_cast<void**>(&of_device), PAGE));
  const auto mostly = hipMemRangeAttributeReadMostly, by = hipMemRangeAttributeAccessedBy;
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttribute(one, 8, mostly, data, PAGE));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttribute(one, 7, by, data, PAGE));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttribute(one, 4, mostly, data, 2 * PAGE));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttribute(one, 4, mostly, data, 0));
  EXPECT(told(hipMemRangeAttributeCoherencyMode, of_device, PAGE) == hipMemRangeCoherencyModeCoarseGrain);
  void* out[] = {one, one + 1};
  size_t sizes[] = {4, 4};
  hipMemRangeAttribute both[] = {mostly, by};
  HIP(hipMemRangeGetAttributes(out, sizes, both, 2, data, PAGE));
  EXPECT(one[0] == 0 && one[1] == hipInvalidDeviceId);
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttributes(out, sizes, both, 2, of_device, PAGE));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttributes(out, sizes, both, 2, data, 0));
  out[1] = nullptr;
  EXPECT_ERROR(hipErrorInvalidValue, hipMemRangeGetAttributes(out, sizes, both, 2, data, PAGE));
  EXPECT_ERROR(hipErrorInvalidDevice, hipMemAdvise(data, 2 * PAGE, hipMemAdviseSetPreferredLocation, 9));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemPrefetchAsync(data, 2 * PAGE, 9, nullptr));
  EXPECT_ERROR(hipErrorNotSupported, hipMemPrefetchAsync(one, 4, 0, nullptr));
  HIP(hipMemPrefetchAsync(one, 4, hipCpuDeviceId, nullptr));
  HIP(hipFree(data));
  HIP(hipFree(of_device));
}

static void handles_of_events() {
  hipEvent_t alone, shared;
  hipIpcEventHandle_t handle;
  HIP(hipEventCreateWithFlags(&alone, hipEventDisableTiming));
  HIP(hipEventCreateWithFlags(&shared, hipEventDisableTiming | hipEventInterprocess));
  EXPECT_ERROR(hipErrorInvalidValue, hipIpcGetEventHandle(nullptr, alone));
  EXPECT_ERROR(hipErrorInvalidValue, hipIpcGetEventHandle(&handle, nullptr));
  EXPECT_ERROR(hipErrorInvalidConfiguration, hipIpcGetEventHandle(&handle, alone));
  EXPECT_ERROR(hipErrorInvalidValue, hipIpcOpenEventHandle(nullptr, handle));
}

static std::string drawn(hipGraph_t graph, unsigned flags) {
  HIP(hipGraphDebugDotPrint(graph, "/tmp/graph.dot", flags));
  std::ifstream file("/tmp/graph.dot");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static void drawing_of_a_graph() {
  float *data, host[64], four = 4;
  float* arguments[1];
  hipGraph_t graph, inner;
  hipGraphNode_t node[7];
  hipEvent_t event;
  HIP(hipMalloc(reinterpret_cast<void**>(&data), sizeof host));
  arguments[0] = data;
  void* parameters[] = {arguments};
  HIP(hipEventCreate(&event));
  HIP(hipGraphCreate(&graph, 0));
  HIP(hipGraphCreate(&inner, 0));
  hipMemsetParams fill = {};
  fill.dst = data, fill.elementSize = 4, fill.width = 64, fill.height = 1, fill.value = 7;
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(scale), kernel.gridDim = dim3(2), kernel.blockDim = dim3(32);
  kernel.kernelParams = parameters;
  hipHostNodeParams host_call = {called, &four};
  HIP(hipGraphAddMemsetNode(&node[0], graph, nullptr, 0, &fill));
  HIP(hipGraphAddKernelNode(&node[1], graph, &node[0], 1, &kernel));
  HIP(hipGraphAddMemcpyNode1D(&node[2], graph, &node[1], 1, host, data, sizeof host, hipMemcpyDeviceToHost));
  HIP(hipGraphAddEventRecordNode(&node[3], graph, nullptr, 0, event));
  HIP(hipGraphAddHostNode(&node[4], graph, nullptr, 0, &host_call));
  HIP(hipGraphAddEmptyNode(&node[5], graph, nullptr, 0));
  HIP(hipGraphAddEmptyNode(&node[6], inner, nullptr, 0));
  HIP(hipGraphAddChildGraphNode(&node[6], graph, nullptr, 0, inner));
  std::string text = drawn(graph, 0);
  for (const char* part : {"digraph dot {\nsubgraph cluster_0 {\nlabel=\"graph_0\"graph[style=\"dashed\"];\n",
                           "\"graph_0_node_0\"[style=\"solid\"shape=\"invtrapezium\"label=\"0\nMEMSET\n(7,256)\"];\n",
                           "\"graph_0_node_1\"[style=\"bold\"shape=\"octagon\"label=\"1\n_Z5scalePf\n\"];\n",
                           "\"graph_0_node_2\"[style=\"solid\"shape=\"trapezium\"label=\"2\nMEMCPY\n(DtoH,256)\"];\n",
                           "\"graph_0_node_3\"[style=\"solid\"shape=\"rectangle\"label=\"3\nEVENT_RECORD\"];\n",
                           "label=\"4\nHOST\"];\n", "label=\"5\nEMPTY\"];\n", "label=\"6\ngraph_1\"];\n",
                           "\"graph_0_node_0\" -> \"graph_0_node_1\"\n", "\"graph_0_node_1\" -> \"graph_0_node_2\"\n",
                           "subgraph cluster_1 {\n",
                           "\"graph_1_node_7\"[style=\"solid\"shape=\"rectangle\"label=\"7\nEMPTY\"];\n"})
    if (text.find(part) == std::string::npos) {
      std::printf("FAIL: no %s in\n%s", part, text.c_str());
      std::exit(1);
    }
  text = drawn(graph, hipGraphDebugDotFlagsKernelNodeParams);
  EXPECT(text.find("shape=\"record\"label=\"1\n_Z5scalePf\n\\<\\<\\<(2,1,1),(32,1,1),(0,0,0),0\\>\\>\\>\"];") !=
         std::string::npos);
  EXPECT_ERROR(hipErrorOperatingSystem, hipGraphDebugDotPrint(graph, "/nowhere/graph.dot", 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipGraphDebugDotPrint(graph, nullptr, 0));
  HIP(hipGraphDestroy(graph));
  HIP(hipGraphDestroy(inner));
}

int main() {
  masks_of_units();
  advice_is_of_pages();
  wrong_questions_of_ranges();
  handles_of_events();
  drawing_of_a_graph();
  return pass();
}
