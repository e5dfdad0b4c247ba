// Calls that are not supported say so: textures, arrays, events between processes. A fault is returned by the next call.
#include "expect.h"

#include <string>

__global__ void beyond(int* data) { data[threadIdx.x + (1 << 19)] = 1; }

int main() {
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  EXPECT(format.x == 32 && format.f == hipChannelFormatKindFloat);
  hipArray_t array = nullptr;
  EXPECT_ERROR(hipErrorNotSupported, hipMallocArray(&array, &format, 16, 16));
  EXPECT_ERROR(hipErrorNotSupported, hipMallocArray(&array, &format, 16, 16));
  void* data;
  HIP(hipMalloc(&data, 400));
  hipIpcEventHandle_t handle;
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
  EXPECT_ERROR(hipErrorNotSupported, hipIpcGetEventHandle(&handle, event));
  EXPECT(hipGetLastError() == hipErrorNotSupported && hipGetLastError() == hipSuccess);
  EXPECT(std::string(hipGetErrorName(hipErrorNotSupported)) == "hipErrorNotSupported");
  beyond<<<1, 64>>>(static_cast<int*>(data));
  EXPECT_ERROR(hipErrorIllegalAddress, hipDeviceSynchronize());
  return pass();
}
