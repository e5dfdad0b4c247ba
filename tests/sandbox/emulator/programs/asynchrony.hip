// Kernels that wait for what the host does later: queries, order within and between streams, implicit synchronisation.
#include "expect.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

__global__ void wait_for(int* flag, int value) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != value) __builtin_amdgcn_s_sleep(8);
}
__global__ void set(int* flag, int value) { __hip_atomic_store(flag, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM); }
__global__ void append(int* list, int value) { list[++list[0]] = value; }

struct Held {  // a kernel that waits for open()
  int* flag;
  hipStream_t stream;
  explicit Held(hipStream_t s) : stream(s) {
    HIP(hipHostMalloc(reinterpret_cast<void**>(&flag), sizeof *flag, hipHostMallocMapped));
    *flag = 0;
    wait_for<<<1, 64, 0, stream>>>(flag, 1);
    HIP(hipGetLastError());
  }
  void open() { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }
  void open_later() {
    opener = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      opened = true;
      open();
    });
  }
  ~Held() {
    if (opener.joinable()) opener.join();
    HIP(hipStreamSynchronize(stream));
    HIP(hipHostFree(flag));
  }
  std::thread opener;
  std::atomic<bool> opened{false};
};

static hipStream_t blocking, other, apart;

static void queries_say_not_ready() {
  hipEvent_t before, behind;
  float ms;
  HIP(hipEventCreate(&before));
  HIP(hipEventCreate(&behind));
  HIP(hipEventRecord(before, apart));
  Held held(apart);
  HIP(hipEventRecord(behind, apart));
  EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(apart));
  EXPECT_ERROR(hipErrorNotReady, hipEventQuery(behind));
  EXPECT_ERROR(hipErrorNotReady, hipEventElapsedTime(&ms, before, behind));
  HIP(hipEventQuery(before));
  HIP(hipStreamQuery(blocking));
  HIP(hipGetLastError());
  held.open();
  HIP(hipEventSynchronize(behind));
  HIP(hipEventElapsedTime(&ms, before, behind));
  HIP(hipStreamSynchronize(apart));
  HIP(hipStreamQuery(apart));
  EXPECT(ms > 0);
  HIP(hipEventDestroy(before));
  HIP(hipEventDestroy(behind));
}

static void others_release_it() {
  int one = 1, *pinned;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&pinned), sizeof *pinned, 0));
  *pinned = 1;
  for (int how = 0; how < 4; how++) {
    Held held(apart);
    if (how == 0) set<<<1, 1, 0, blocking>>>(held.flag, 1);
    if (how == 1) HIP(hipMemcpyAsync(held.flag, pinned, sizeof one, hipMemcpyDefault, blocking));
    if (how == 2) HIP(hipStreamWriteValue32(blocking, held.flag, 1, 0));
    if (how == 3) HIP(hipMemcpy(held.flag, &one, sizeof one, hipMemcpyDefault));
  }
  HIP(hipHostFree(pinned));
}

static void a_stream_is_in_order(int* list) {
  int value = 1;
  void* arguments[] = {&list, &value};
  HIP(hipMemset(list, 0, 64));
  {
    Held held(apart);
    HIP(hipLaunchKernel(reinterpret_cast<void*>(append), dim3(1), dim3(1), arguments, 0, apart));
    value = 77;  // the launch has its own copy
    append<<<1, 1, 0, apart>>>(list, 2);
    append<<<1, 1, 0, blocking>>>(list, 3);
    HIP(hipStreamSynchronize(blocking));
    EXPECT(list[0] == 1 && list[1] == 3);
    held.open();
  }
  EXPECT(list[0] == 3 && list[2] == 1 && list[3] == 2);
}

static void the_null_stream_waits_for_blocking_ones(int* list) {
  HIP(hipMemset(list, 0, 64));
  {
    Held held(blocking);
    append<<<1, 1>>>(list, 1);
    append<<<1, 1, 0, other>>>(list, 2);  // behind the null stream
    append<<<1, 1, 0, apart>>>(list, 3);
    HIP(hipStreamSynchronize(apart));
    EXPECT(list[0] == 1 && list[1] == 3);
    EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(nullptr));
    EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(other));
    held.open();
  }
  HIP(hipDeviceSynchronize());
  EXPECT(list[0] == 3 && list[2] == 1 && list[3] == 2);
}

static void events_order_streams(int* list) {
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  HIP(hipMemset(list, 0, 64));
  HIP(hipStreamWaitEvent(other, event, 0));  // never recorded: nothing to wait for
  {
    Held held(apart);
    HIP(hipEventRecord(event, apart));
    HIP(hipStreamWaitEvent(other, event, 0));
    HIP(hipEventRecord(event, blocking));  // a stream that waits already waits for the earlier record
    append<<<1, 1, 0, other>>>(list, 1);
    EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(other));
    HIP(hipEventSynchronize(event));
    EXPECT(list[0] == 0);
    HIP(hipEventDestroy(event));
    held.open();
  }
  HIP(hipStreamSynchronize(other));
  EXPECT(list[0] == 1);
}

static std::atomic<int> gate, passed;
static void wait_at_gate(void*) {
  while (!gate) std::this_thread::yield();
  passed++;
}
static void count(hipStream_t, hipError_t error, void*) { passed += error == hipSuccess ? 10 : 1000; }

static void host_functions_do_not_hold_the_caller() {
  gate = passed = 0;
  HIP(hipLaunchHostFunc(apart, wait_at_gate, nullptr));
  HIP(hipStreamAddCallback(apart, count, nullptr, 0));
  EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(apart));
  EXPECT(passed == 0);
  gate = 1;
  HIP(hipStreamSynchronize(apart));
  EXPECT(passed == 11);
}

static void values_are_waited_for(int* list) {
  unsigned* value;
  HIP(hipExtMallocWithFlags(reinterpret_cast<void**>(&value), 8, hipMallocSignalMemory));
  HIP(hipMemset(list, 0, 64));
  HIP(hipMemset(value, 0, 8));
  HIP(hipStreamWaitValue32(apart, value, 5, hipStreamWaitValueGte, ~0u));
  append<<<1, 1, 0, apart>>>(list, 1);
  EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(apart));
  HIP(hipStreamWriteValue32(blocking, value, 6, 0));
  HIP(hipStreamSynchronize(apart));
  EXPECT(list[0] == 1);
  HIP(hipFree(value));
}

// What waits for the device though it is not called synchronise.
static void implicit_synchronisation(int* list) {
  for (int how = 0; how < 6; how++) {
    int* block;
    int host[16];
    hipStream_t passing;
    HIP(hipMalloc(&block, 64));
    HIP(hipStreamCreateWithFlags(&passing, hipStreamDefault));
    {
      Held held(passing);
      HIP(hipMemsetAsync(block, how, 64, passing));
      held.open_later();
      if (how == 0) HIP(hipFree(block));
      if (how == 1) HIP(hipMemcpy(host, block, 64, hipMemcpyDeviceToHost));
      if (how == 2) HIP(hipMemcpyAsync(host, block, 64, hipMemcpyDeviceToHost, passing));  // pageable
      if (how == 3) HIP(hipDeviceSynchronize());
      if (how == 4) HIP(hipStreamSynchronize(nullptr));
      if (how == 5) HIP(hipMemset(list, 0, 4));  // of memory that the host sees
      EXPECT(held.opened);
    }
    EXPECT(how < 1 || how > 2 || host[15] == 0x01010101 * how);
    if (how != 0) HIP(hipFree(block));
    HIP(hipStreamDestroy(passing));
  }
}

static void a_destroyed_stream_ends_its_work(int* list) {
  hipStream_t passing;
  HIP(hipMemset(list, 0, 64));
  HIP(hipStreamCreateWithFlags(&passing, hipStreamNonBlocking));
  int* flag;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&flag), sizeof *flag, 0));
  *flag = 0;
  wait_for<<<1, 1, 0, passing>>>(flag, 1);
  append<<<1, 1, 0, passing>>>(list, 9);
  HIP(hipStreamDestroy(passing));
  EXPECT_ERROR(hipErrorInvalidHandle, hipStreamQuery(passing));
  EXPECT_ERROR(hipErrorInvalidHandle, hipGetLastError());
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipDeviceSynchronize());
  EXPECT(list[0] == 1 && list[1] == 9);
  HIP(hipHostFree(flag));
}

static void a_graph_that_runs_is_its_own(int* list) {
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipMemset(list, 0, 64));
  Held held(apart);
  HIP(hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed));
  append<<<1, 1, 0, blocking>>>(list, 4);
  HIP(hipLaunchHostFunc(blocking, wait_at_gate, nullptr));
  append<<<1, 1, 0, blocking>>>(list, 5);
  HIP(hipStreamEndCapture(blocking, &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, apart));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  EXPECT(list[0] == 0);
  held.open();
  HIP(hipStreamSynchronize(apart));
  EXPECT(list[0] == 2 && list[1] == 4 && list[2] == 5);
}

static void memory_is_freed_in_order() {
  int *block, seen = 0;
  HIP(hipMallocAsync(reinterpret_cast<void**>(&block), 64, apart));
  Held held(apart);
  set<<<1, 1, 0, apart>>>(block, 3);
  HIP(hipFreeAsync(block, apart));
  held.open();
  HIP(hipStreamSynchronize(apart));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemcpy(&seen, block, 4, hipMemcpyDeviceToHost));
  EXPECT_ERROR(hipErrorInvalidValue, hipGetLastError());
}

static void each_thread_has_a_stream(int* list) {
  HIP(hipMemset(list, 0, 64));
  Held held(hipStreamPerThread);
  std::thread([list] {
    append<<<1, 1, 0, hipStreamPerThread>>>(list, 6);
    HIP(hipStreamSynchronize(hipStreamPerThread));
  }).join();
  EXPECT(list[0] == 1);
  EXPECT_ERROR(hipErrorNotReady, hipStreamQuery(hipStreamPerThread));
  held.open();
}

static void a_child_begins_anew(int* list) {
  Held held(apart);
  pid_t child = fork();
  if (!child) {
    append<<<1, 1, 0, apart>>>(list, 1);
    HIP(hipDeviceSynchronize());
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  held.open();
}

static void a_fault_is_told_by_who_waits() {
  Held held(apart);
  set<<<1, 1, 0, apart>>>(nullptr, 1);
  HIP(hipGetLastError());
  HIP(hipStreamQuery(blocking));
  held.open();
  EXPECT_ERROR(hipErrorIllegalAddress, hipStreamSynchronize(apart));
  EXPECT_ERROR(hipErrorIllegalAddress, hipDeviceSynchronize());
  HIP(hipDeviceReset());
}

int main() {
  int* list;
  HIP(hipMallocManaged(&list, 64));
  HIP(hipStreamCreate(&blocking));
  HIP(hipStreamCreate(&other));
  HIP(hipStreamCreateWithFlags(&apart, hipStreamNonBlocking));
  queries_say_not_ready();
  others_release_it();
  a_stream_is_in_order(list);
  the_null_stream_waits_for_blocking_ones(list);
  events_order_streams(list);
  host_functions_do_not_hold_the_caller();
  values_are_waited_for(list);
  implicit_synchronisation(list);
  a_destroyed_stream_ends_its_work(list);
  a_graph_that_runs_is_its_own(list);
  memory_is_freed_in_order();
  each_thread_has_a_stream(list);
  a_child_begins_anew(list);
  a_fault_is_told_by_who_waits();
  return pass();
}
