// Addresses reserved apart from memory: a buffer that grows in place, sharing of memory between addresses, access rights.
#include "expect.h"

#include <vector>

__global__ void number(int* data, int from) { data[blockIdx.x * 64 + threadIdx.x] = from + blockIdx.x * 64 + threadIdx.x; }

static hipMemAllocationProp properties() {
  hipMemAllocationProp p = {};
  p.type = hipMemAllocationTypePinned;
  p.location = {hipMemLocationTypeDevice, 0};
  return p;
}

int main() {
  hipMemAllocationProp p = properties(), told;
  size_t least, good;
  HIP(hipMemGetAllocationGranularity(&least, &p, hipMemAllocationGranularityMinimum));
  HIP(hipMemGetAllocationGranularity(&good, &p, hipMemAllocationGranularityRecommended));
  EXPECT(least && good % least == 0);
  int supported;
  HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0));
  EXPECT(supported == 1);

  size_t chunk = good;
  char* base;
  hipMemGenericAllocationHandle_t a, b, same;
  hipMemAccessDesc both = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  HIP(hipMemAddressReserve(reinterpret_cast<void**>(&base), 4 * chunk, 0, nullptr, 0));
  EXPECT(reinterpret_cast<size_t>(base) % least == 0);
  HIP(hipMemCreate(&a, chunk, &p, 0));
  HIP(hipMemMap(base, chunk, 0, a, 0));
  std::vector<int> host(2 * chunk / sizeof(int));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemcpy(base, host.data(), 64, hipMemcpyHostToDevice));  // no access yet
  HIP(hipMemSetAccess(base, chunk, &both, 1));
  int n = chunk / sizeof(int);
  number<<<n / 64, 64>>>(reinterpret_cast<int*>(base), 0);

  HIP(hipMemCreate(&b, chunk, &p, 0));  // it grows, and keeps what it holds
  HIP(hipMemMap(base + chunk, chunk, 0, b, 0));
  HIP(hipMemSetAccess(base, 2 * chunk, &both, 1));
  number<<<n / 64, 64>>>(reinterpret_cast<int*>(base) + n, n);
  HIP(hipMemcpy(host.data(), base, 2 * chunk, hipMemcpyDeviceToHost));
  for (int i = 0; i < 2 * n; i++) EXPECT(host[i] == i);

  HIP(hipMemMap(base + 3 * chunk, chunk, 0, a, 0));  // the same memory at another address
  HIP(hipMemSetAccess(base + 3 * chunk, chunk, &both, 1));
  number<<<1, 64>>>(reinterpret_cast<int*>(base + 3 * chunk), 7000);
  int first;
  HIP(hipMemcpy(&first, base, sizeof first, hipMemcpyDeviceToHost));
  EXPECT(first == 7000);

  unsigned long long flags;
  hipMemLocation here = {hipMemLocationTypeDevice, 0};
  hipPointerAttribute_t attributes;
  HIP(hipMemGetAccess(&flags, &here, base));
  EXPECT(flags == hipMemAccessFlagsProtReadWrite);
  HIP(hipMemRetainAllocationHandle(&same, base));
  EXPECT(same == a);
  HIP(hipMemRelease(same));
  HIP(hipMemGetAllocationPropertiesFromHandle(&told, a));
  EXPECT(told.type == p.type && told.location.id == 0);
  HIP(hipPointerGetAttributes(&attributes, base));
  EXPECT(attributes.type == hipMemoryTypeDevice);

  EXPECT_ERROR(hipErrorInvalidValue, hipMemCreate(&same, chunk + 1, &p, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemMap(base, chunk, 0, b, 0));  // taken
  EXPECT_ERROR(hipErrorInvalidValue, hipMemMap(base + 2 * chunk, 2 * chunk, 0, b, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemSetAccess(base + 2 * chunk, chunk, &both, 1));  // nothing is mapped there
  EXPECT_ERROR(hipErrorInvalidValue, hipFree(base));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemAddressFree(base, 4 * chunk));  // still mapped

  HIP(hipMemRelease(a));  // it lives as long as it is mapped
  HIP(hipMemRelease(b));
  HIP(hipMemUnmap(base, 2 * chunk));
  HIP(hipMemcpy(&first, base + 3 * chunk, sizeof first, hipMemcpyDeviceToHost));
  EXPECT(first == 7000);
  both.flags = hipMemAccessFlagsProtRead;
  HIP(hipMemSetAccess(base + 3 * chunk, chunk, &both, 1));
  HIP(hipMemcpy(&first, base + 3 * chunk, sizeof first, hipMemcpyDeviceToHost));
  number<<<1, 64>>>(reinterpret_cast<int*>(base + 3 * chunk), 1);
  EXPECT_ERROR(hipErrorIllegalAddress, hipDeviceSynchronize());
  HIP(hipDeviceReset());
  HIP(hipMemUnmap(base + 3 * chunk, chunk));
  HIP(hipMemAddressFree(base, 4 * chunk));

  p.requestedHandleType = hipMemHandleTypePosixFileDescriptor;  // memory as a file, also for other processes
  int file = -1;
  HIP(hipMemCreate(&a, chunk, &p, 0));
  HIP(hipMemExportToShareableHandle(&file, a, hipMemHandleTypePosixFileDescriptor, 0));
  HIP(hipMemImportFromShareableHandle(&b, reinterpret_cast<void*>(static_cast<size_t>(file)), hipMemHandleTypePosixFileDescriptor));
  both.flags = hipMemAccessFlagsProtReadWrite;
  HIP(hipMemAddressReserve(reinterpret_cast<void**>(&base), 2 * chunk, chunk, nullptr, 0));
  EXPECT(reinterpret_cast<size_t>(base) % chunk == 0);
  HIP(hipMemMap(base, chunk, 0, a, 0));
  HIP(hipMemMap(base + chunk, chunk, 0, b, 0));
  HIP(hipMemSetAccess(base, 2 * chunk, &both, 1));
  number<<<1, 64>>>(reinterpret_cast<int*>(base), 5);
  HIP(hipMemcpy(&first, base + chunk, sizeof first, hipMemcpyDeviceToHost));
  EXPECT(first == 5);
  return pass();
}
