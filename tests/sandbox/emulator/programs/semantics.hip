// Error codes of wrong calls, and attributes of pointers, events and memory, as AMD's runtime returns them.
#include "expect.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

__global__ void touch(int* data) { data[threadIdx.x] += 1; }
__global__ void wait_for(int* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != 1) __builtin_amdgcn_s_sleep(8);
}
__global__ void with_dynamic_lds(int* data) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  data[threadIdx.x] = tile[threadIdx.x];
}

// ---- wrong arguments ----

static void wrong_arguments() {
  int *data, host[64], value;
  size_t bytes;
  void* other;
  HIP(hipMalloc(&data, 256));
  EXPECT_ERROR(hipErrorInvalidValue, hipMalloc(static_cast<void**>(nullptr), 4));
  HIP(hipMalloc(&other, 0));
  EXPECT(!other);
  EXPECT_ERROR(hipErrorInvalidValue, hipMemcpy(nullptr, host, 4, hipMemcpyHostToDevice));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemcpy(data, nullptr, 4, hipMemcpyHostToDevice));
  HIP(hipMemcpy(data, host, 0, hipMemcpyHostToDevice));
  HIP(hipMemcpy(nullptr, nullptr, 0, hipMemcpyHostToDevice));
  EXPECT_ERROR(hipErrorInvalidMemcpyDirection, hipMemcpy(data, host, 4, static_cast<hipMemcpyKind>(77)));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemset(nullptr, 0, 4));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemset(data, 0, 257));
  HIP(hipMemset(data, 0, 0));
  EXPECT_ERROR(hipErrorInvalidPitchValue, hipMemcpy2D(data, 8, host, 16, 12, 2, hipMemcpyHostToDevice));
  EXPECT_ERROR(hipErrorInvalidDevice, hipSetDevice(-1));
  EXPECT_ERROR(hipErrorInvalidDevice, hipSetDevice(99));
  EXPECT_ERROR(hipErrorInvalidDevice, hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 99));
  EXPECT_ERROR(hipErrorInvalidValue, hipDeviceGetAttribute(nullptr, hipDeviceAttributeWarpSize, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipGetDeviceCount(nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemGetInfo(nullptr, nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipStreamCreate(nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipStreamCreateWithFlags(reinterpret_cast<hipStream_t*>(&other), 77));
  EXPECT_ERROR(hipErrorInvalidValue, hipEventCreate(nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipEventCreateWithFlags(reinterpret_cast<hipEvent_t*>(&other), 0x400));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventRecord(nullptr, nullptr));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventSynchronize(nullptr));
  EXPECT_ERROR(hipErrorInvalidHandle, hipStreamDestroy(nullptr));
  EXPECT_ERROR(hipErrorInvalidHandle, hipStreamWaitEvent(nullptr, nullptr, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipLaunchHostFunc(nullptr, nullptr, nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipHostRegister(nullptr, 4, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipHostRegister(host, 0, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipHostRegister(host, 256, 0x1000000));
  EXPECT_ERROR(hipErrorInvalidValue, hipPointerGetAttributes(nullptr, data));
  EXPECT_ERROR(hipErrorInvalidValue, hipFree(host));
  EXPECT_ERROR(hipErrorInvalidValue, hipFree(data + 1));
  EXPECT_ERROR(hipErrorInvalidValue, hipExtMallocWithFlags(&other, 16, hipMallocSignalMemory));
  EXPECT_ERROR(hipErrorInvalidValue, hipExtMallocWithFlags(&other, 16, 0x100));
  char id[12];
  EXPECT_ERROR(hipErrorInvalidValue, hipDeviceGetPCIBusId(id, sizeof id, 0));
  HIP(hipHostMalloc(&other, 64));
  HIP(hipFree(other));
  HIP(hipMalloc(&other, 64));
  HIP(hipHostFree(other));
  EXPECT_ERROR(hipErrorInvalidValue, hipMallocManaged(&other, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, touch, 64, 0));
  EXPECT_ERROR(hipErrorInvalidSymbol, hipGetSymbolSize(&bytes, host));
  EXPECT_ERROR(hipErrorInvalidDeviceFunction, hipLaunchKernel(host, dim3(1), dim3(1), nullptr, 0, nullptr));
  void* arguments[] = {&data};
  auto kernel = reinterpret_cast<const void*>(with_dynamic_lds);
  EXPECT_ERROR(hipErrorInvalidConfiguration, hipLaunchKernel(kernel, dim3(0, 1, 1), dim3(1), arguments, 0, nullptr));
  EXPECT_ERROR(hipErrorInvalidConfiguration, hipLaunchKernel(kernel, dim3(1), dim3(1, 0, 1), arguments, 0, nullptr));
  EXPECT_ERROR(hipErrorInvalidConfiguration, hipLaunchKernel(kernel, dim3(1), dim3(33, 32), arguments, 0, nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipLaunchKernel(kernel, dim3(1), dim3(64), arguments, 1 << 20, nullptr));
  HIP(hipFree(data));
  (void)hipGetLastError();
}

static void last_errors() {
  EXPECT_ERROR(hipErrorInvalidDevice, hipSetDevice(99));
  EXPECT(hipPeekAtLastError() == hipErrorInvalidDevice && hipPeekAtLastError() == hipErrorInvalidDevice);
  std::thread([] { EXPECT(hipPeekAtLastError() == hipSuccess); }).join();  // each thread has its own
  EXPECT(hipGetLastError() == hipErrorInvalidDevice && hipGetLastError() == hipSuccess);
  touch<<<0, 64>>>(nullptr);
  EXPECT(hipPeekAtLastError() == hipErrorInvalidConfiguration && hipGetLastError() == hipErrorInvalidConfiguration);
}

// ---- attributes of pointers ----

__device__ int variable[16];

static void pointers() {
  int *device, *pinned, *managed, *ordered, own[8];
  void* symbol;
  hipPointerAttribute_t a;
  HIP(hipMalloc(&device, 64));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&pinned), 64, hipHostMallocPortable));
  HIP(hipMallocManaged(&managed, 64));
  HIP(hipMallocAsync(reinterpret_cast<void**>(&ordered), 64, nullptr));
  HIP(hipPointerGetAttributes(&a, device + 3));
  EXPECT(a.type == hipMemoryTypeDevice && a.device == 0 && a.devicePointer == device + 3 && !a.hostPointer && !a.isManaged);
  HIP(hipPointerGetAttributes(&a, pinned));
  EXPECT(a.type == hipMemoryTypeHost && a.devicePointer && a.hostPointer == pinned && a.allocationFlags == hipHostMallocPortable);
  HIP(hipPointerGetAttributes(&a, managed));
  EXPECT(a.type == hipMemoryTypeManaged && a.isManaged && a.devicePointer == managed && a.hostPointer == managed);
  HIP(hipPointerGetAttributes(&a, ordered));
  EXPECT(a.type == hipMemoryTypeDevice);
  HIP(hipPointerGetAttributes(&a, own));
  EXPECT(a.type == hipMemoryTypeUnregistered && !a.devicePointer);
  HIP(hipGetSymbolAddress(&symbol, HIP_SYMBOL(variable)));
  HIP(hipPointerGetAttributes(&a, symbol));
  EXPECT(a.type == hipMemoryTypeDevice && a.devicePointer == symbol);
  HIP(hipFree(device));
  HIP(hipPointerGetAttributes(&a, device));
  EXPECT(a.type == hipMemoryTypeUnregistered);

  // The direction of a copy is worked out from the pointers, whatever they are.
  void* all[] = {pinned, managed, ordered, own, symbol};
  for (void* to : all)
    for (void* from : all) {
      int value = 0x600d, seen = 0;
      HIP(hipMemcpy(from, &value, 4, hipMemcpyDefault));
      HIP(hipMemcpy(to, from, 4, hipMemcpyDefault));
      HIP(hipMemcpy(&seen, to, 4, hipMemcpyDefault));
      EXPECT(seen == value);
      HIP(hipMemset(ordered, 0, 4));
    }
  std::memset(own, 0, sizeof own);
  EXPECT_ERROR(hipErrorInvalidValue, hipMemcpy(own, own + 4, 4, hipMemcpyDeviceToDevice));
  HIP(hipMemcpy(own, own + 4, 4, hipMemcpyHostToHost));
  (void)hipGetLastError();
  HIP(hipFree(ordered));  // of hipMallocAsync as well
  HIP(hipFree(managed));
  HIP(hipHostFree(pinned));
}

static void registered_memory() {
  size_t bytes = 8192;
  int *host = static_cast<int*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), *seen;
  unsigned flags = 0;
  HIP(hipHostRegister(host, bytes, hipHostRegisterMapped | hipHostRegisterPortable));
  HIP(hipHostGetFlags(&flags, host));
  EXPECT(flags == (hipHostRegisterMapped | hipHostRegisterPortable));
  HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), host + 5, 0));
  touch<<<1, 64>>>(seen);
  HIP(hipDeviceSynchronize());
  EXPECT(host[4] == 0 && host[5] == 1 && host[68] == 1 && host[69] == 0);
  EXPECT_ERROR(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(host, bytes, 0));
  EXPECT_ERROR(hipErrorHostMemoryNotRegistered, hipHostUnregister(host + 1024));
  HIP(hipHostUnregister(host));
  EXPECT_ERROR(hipErrorHostMemoryNotRegistered, hipHostUnregister(host));
  (void)hipGetLastError();
}

static void advice() {
  int *managed, value = 7;
  HIP(hipMallocManaged(&managed, 8192));
  HIP(hipMemRangeGetAttribute(&value, sizeof value, hipMemRangeAttributeReadMostly, managed, 8192));
  EXPECT(value == 0);
  HIP(hipMemAdvise(managed, 8192, hipMemAdviseSetReadMostly, 0));
  HIP(hipMemRangeGetAttribute(&value, sizeof value, hipMemRangeAttributeReadMostly, managed, 8192));
  EXPECT(value == 1);
  HIP(hipMemAdvise(managed, 8192, hipMemAdviseUnsetReadMostly, 0));
  HIP(hipMemRangeGetAttribute(&value, sizeof value, hipMemRangeAttributeReadMostly, managed, 8192));
  EXPECT(value == 0);
  HIP(hipMemRangeGetAttribute(&value, sizeof value, hipMemRangeAttributePreferredLocation, managed, 8192));
  EXPECT(value == hipInvalidDeviceId);
  HIP(hipMemAdvise(managed, 8192, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
  HIP(hipMemRangeGetAttribute(&value, sizeof value, hipMemRangeAttributePreferredLocation, managed, 8192));
  EXPECT(value == hipCpuDeviceId);
  int devices[2] = {5, 5};
  HIP(hipMemAdvise(managed, 8192, hipMemAdviseSetAccessedBy, 0));
  HIP(hipMemRangeGetAttribute(devices, sizeof devices, hipMemRangeAttributeAccessedBy, managed, 8192));
  EXPECT(devices[0] == 0 && devices[1] == hipInvalidDeviceId);
  HIP(hipMemPrefetchAsync(managed, 8192, 0, nullptr));
  HIP(hipMemRangeGetAttribute(&value, sizeof value, hipMemRangeAttributeLastPrefetchLocation, managed, 8192));
  EXPECT(value == 0);
  EXPECT_ERROR(hipErrorInvalidValue, hipMemAdvise(managed, 8192, static_cast<hipMemoryAdvise>(99), 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemAdvise(nullptr, 8192, hipMemAdviseSetReadMostly, 0));
  EXPECT_ERROR(hipErrorInvalidDevice, hipMemPrefetchAsync(managed, 8192, 99, nullptr));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemPrefetchAsync(managed, 16384, 0, nullptr));
  (void)hipGetLastError();
  HIP(hipFree(managed));
}

static void free_memory_counts_what_is_created() {
  size_t before, during, after, total, granule;
  hipMemAllocationProp p = {};
  p.type = hipMemAllocationTypePinned, p.location = {hipMemLocationTypeDevice, 0};
  hipMemGenericAllocationHandle_t handle;
  HIP(hipMemGetAllocationGranularity(&granule, &p, hipMemAllocationGranularityRecommended));
  HIP(hipMemGetInfo(&before, &total));
  HIP(hipMemCreate(&handle, granule, &p, 0));
  HIP(hipMemGetInfo(&during, &total));
  HIP(hipMemRelease(handle));
  HIP(hipMemGetInfo(&after, &total));
  EXPECT(before - during == granule && after == before);
}

// ---- events ----

static void events() {
  hipEvent_t never, a, b;
  float ms = -1;
  HIP(hipEventCreate(&never));
  HIP(hipEventCreate(&a));
  HIP(hipEventCreateWithFlags(&b, hipEventBlockingSync));
  HIP(hipEventQuery(never));
  HIP(hipEventSynchronize(never));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventElapsedTime(&ms, never, a));
  HIP(hipEventRecord(a, nullptr));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventElapsedTime(&ms, a, never));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventElapsedTime(&ms, nullptr, a));
  EXPECT_ERROR(hipErrorInvalidValue, hipEventElapsedTime(nullptr, a, a));
  HIP(hipEventRecord(b, nullptr));
  HIP(hipEventSynchronize(b));
  HIP(hipEventElapsedTime(&ms, a, a));
  EXPECT(ms == 0);
  HIP(hipEventElapsedTime(&ms, a, b));
  EXPECT(ms >= 0);
  HIP(hipEventDestroy(never));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventQuery(never));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventDestroy(never));
  (void)hipGetLastError();
}

// Threads record, query and measure the same event while others come and go.
static void events_of_many_threads() {
  hipEvent_t shared, other;
  HIP(hipEventCreate(&shared));
  HIP(hipEventCreate(&other));
  HIP(hipEventRecord(other, nullptr));
  HIP(hipEventRecord(shared, nullptr));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([=] {
      hipStream_t stream;
      HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      for (int k = 0; k < 2000; k++) {
        hipEvent_t mine;
        float ms;
        HIP(hipEventCreate(&mine));
        HIP(hipEventRecord(k % 2 ? mine : shared, stream));
        HIP(hipStreamWaitEvent(stream, shared, 0));
        hipError_t e = hipEventElapsedTime(&ms, other, shared);
        EXPECT(e == hipSuccess || e == hipErrorNotReady);
        HIP(hipEventSynchronize(shared));
        HIP(hipEventDestroy(mine));
      }
      HIP(hipStreamDestroy(stream));
    });
  for (auto& t : threads) t.join();
}

// Two threads capture at once, each its own stream; nothing of one gets into the other's graph.
static void captures_of_many_threads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([t] {
      int* data;
      hipStream_t stream, side;
      hipEvent_t fork, join;
      HIP(hipMallocManaged(&data, 256));
      HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      HIP(hipStreamCreateWithFlags(&side, hipStreamNonBlocking));
      HIP(hipEventCreate(&fork));
      HIP(hipEventCreate(&join));
      for (int k = 0; k < 50; k++) {
        hipGraph_t graph;
        hipGraphExec_t exec;
        size_t nodes;
        std::memset(data, 0, 256);
        HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
        HIP(hipEventRecord(fork, stream));
        HIP(hipStreamWaitEvent(side, fork, 0));
        for (int n = 0; n <= t; n++) touch<<<1, 64, 0, n % 2 ? side : stream>>>(data);
        HIP(hipEventRecord(join, side));
        HIP(hipStreamWaitEvent(stream, join, 0));
        HIP(hipStreamEndCapture(stream, &graph));
        HIP(hipGraphGetNodes(graph, nullptr, &nodes));
        EXPECT(nodes == static_cast<size_t>(t + 1));
        HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
        HIP(hipGraphLaunch(exec, stream));
        HIP(hipStreamSynchronize(stream));
        EXPECT(data[63] == t + 1);
        HIP(hipGraphExecDestroy(exec));
        HIP(hipGraphDestroy(graph));
      }
    });
  for (auto& t : threads) t.join();
}

static void capture_rules() {
  hipStream_t stream;
  hipGraph_t graph;
  int* data;
  HIP(hipMalloc(&data, 256));
  HIP(hipStreamCreate(&stream));
  EXPECT_ERROR(hipErrorStreamCaptureUnsupported, hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal));
  EXPECT_ERROR(hipErrorIllegalState, hipStreamEndCapture(stream, &graph));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  EXPECT_ERROR(hipErrorIllegalState, hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  touch<<<1, 64>>>(data);  // the null stream would wait for the one that captures
  EXPECT(hipGetLastError() == hipErrorStreamCaptureImplicit);
  EXPECT_ERROR(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(stream, &graph));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  EXPECT_ERROR(hipErrorStreamCaptureUnsupported, hipStreamSynchronize(stream));
  EXPECT_ERROR(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(stream, &graph));
  (void)hipGetLastError();
  HIP(hipStreamDestroy(stream));
  HIP(hipFree(data));
}

// ---- order ----

static std::vector<int> order;
static void note(void* number) { order.push_back(static_cast<int>(reinterpret_cast<size_t>(number))); }
static void note_callback(hipStream_t, hipError_t, void* number) { note(number); }

static void host_functions_come_in_order() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (size_t k = 0; k < 20; k++) {
    if (k % 2) HIP(hipLaunchHostFunc(stream, note, reinterpret_cast<void*>(k)));
    else HIP(hipStreamAddCallback(stream, note_callback, reinterpret_cast<void*>(k), 0));
  }
  HIP(hipStreamSynchronize(stream));
  EXPECT(order.size() == 20);
  for (int k = 0; k < 20; k++) EXPECT(order[k] == k);
  HIP(hipStreamDestroy(stream));
}

static void a_reset_frees_what_waits() {
  int* flag;
  hipStream_t stream;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&flag), 4, 0));
  *flag = 0;
  HIP(hipStreamCreate(&stream));
  wait_for<<<1, 1, 0, stream>>>(flag);
  std::thread opener([flag] { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); });
  HIP(hipDeviceReset());  // waits
  opener.join();
  EXPECT(hipDeviceSynchronize() == hipSuccess);
}

int main() {
  wrong_arguments();
  last_errors();
  pointers();
  registered_memory();
  advice();
  free_memory_counts_what_is_created();
  events();
  events_of_many_threads();
  captures_of_many_threads();
  capture_rules();
  host_functions_come_in_order();
  a_reset_frees_what_waits();
  return pass();
}
