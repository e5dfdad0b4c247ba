// Streams, priorities, events, callbacks, values in memory, and the per-thread default stream.
#include "expect.h"

#include <thread>

__global__ void add(int* data, int amount) { data[threadIdx.x] += amount; }

static void called(hipStream_t, hipError_t error, void* data) { *static_cast<int*>(data) += error == hipSuccess ? 1 : 100; }
static void host_function(void* data) { *static_cast<int*>(data) += 10; }

int main() {
  int least, greatest, priority, *data, calls = 0;
  unsigned flags;
  hipStream_t a, b;
  hipEvent_t begin, end, other;
  HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest < least);
  HIP(hipStreamCreateWithPriority(&a, hipStreamNonBlocking, greatest));
  HIP(hipStreamCreate(&b));
  HIP(hipStreamGetPriority(a, &priority));
  HIP(hipStreamGetFlags(a, &flags));
  EXPECT(priority == greatest && flags == hipStreamNonBlocking);
  HIP(hipEventCreate(&begin));
  HIP(hipEventCreate(&end));
  HIP(hipEventCreateWithFlags(&other, hipEventDisableTiming));
  HIP(hipMallocManaged(&data, 64 * sizeof(int)));
  HIP(hipMemsetAsync(data, 0, 64 * sizeof(int), a));
  HIP(hipEventRecord(begin, a));
  for (int i = 0; i < 10; i++) add<<<1, 64, 0, a>>>(data, 1);
  HIP(hipEventRecord(end, a));
  HIP(hipStreamWaitEvent(b, end, 0));
  add<<<1, 64, 0, b>>>(data, 100);
  HIP(hipStreamAddCallback(b, called, &calls, 0));
  HIP(hipLaunchHostFunc(b, host_function, &calls));
  HIP(hipEventSynchronize(end));
  HIP(hipStreamSynchronize(b));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0 && data[63] == 110 && calls == 11);
  HIP(hipEventRecord(other, a));
  EXPECT_ERROR(hipErrorInvalidHandle, hipEventElapsedTime(&ms, begin, other));
  EXPECT(hipStreamQuery(a) == hipSuccess && hipEventQuery(end) == hipSuccess);

  unsigned* flag;
  HIP(hipExtMallocWithFlags(reinterpret_cast<void**>(&flag), 8, hipMallocSignalMemory));
  HIP(hipStreamWriteValue32(a, flag, 7, 0));
  HIP(hipStreamWaitValue32(b, flag, 7, hipStreamWaitValueEq, ~0u));
  std::thread writer([flag] { *static_cast<volatile unsigned*>(flag) = 9; });
  HIP(hipStreamWaitValue32(b, flag, 9, hipStreamWaitValueGte, ~0u));
  writer.join();

  std::thread worker([data] { add<<<1, 64, 0, hipStreamPerThread>>>(data, 1000); HIP(hipStreamSynchronize(hipStreamPerThread)); });
  worker.join();
  EXPECT(data[0] == 1110);
  HIP(hipStreamDestroy(a));
  EXPECT_ERROR(hipErrorInvalidHandle, hipStreamSynchronize(a));
  return pass();
}
