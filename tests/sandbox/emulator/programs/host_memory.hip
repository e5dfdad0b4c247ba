// Memory that host and device share: managed, pinned, registered; attributes of pointers; pools.
#include "expect.h"

#include <cstdint>
#include <vector>

__global__ void twice(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}

static void check(int* data, int n) {
  for (int i = 0; i < n; i++) data[i] = i + 1;
  twice<<<(n + 63) / 64, 64>>>(data, n);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; i++) EXPECT(data[i] == 2 * (i + 1));
}

static uint64_t pool_value(hipMemPool_t pool, hipMemPoolAttr attribute) {
  uint64_t value = 99;
  HIP(hipMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

static void pool_statistics(hipMemPool_t pool, hipStream_t stream) {
  void *one, *two, *other;
  HIP(hipMalloc(&other, 1 << 20));
  HIP(hipMallocFromPoolAsync(&one, 4096, pool, stream));
  HIP(hipMallocFromPoolAsync(&two, 1024, pool, stream));
  EXPECT(pool_value(pool, hipMemPoolAttrUsedMemCurrent) == 5120);
  HIP(hipFreeAsync(one, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT(pool_value(pool, hipMemPoolAttrUsedMemCurrent) == 1024);
  EXPECT(pool_value(pool, hipMemPoolAttrUsedMemHigh) == 5120);
  EXPECT(pool_value(pool, hipMemPoolAttrReservedMemCurrent) >= 1024);
  uint64_t zero = 0;
  HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, &zero));
  EXPECT(pool_value(pool, hipMemPoolAttrUsedMemHigh) == 1024);
  HIP(hipFreeAsync(two, stream));
  HIP(hipFree(other));
}

static void pools() {
  hipMemPool_t pool;
  HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 20, read = 0;
  HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &read));
  EXPECT(read == threshold);
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  int *first, *second, value = 0;
  HIP(hipMallocAsync(reinterpret_cast<void**>(&first), 4096, stream));
  HIP(hipMemsetAsync(first, 1, 4096, stream));
  HIP(hipMemcpyAsync(&value, first, sizeof value, hipMemcpyDeviceToHost, stream));
  HIP(hipFreeAsync(first, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT(value == 0x01010101);
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  HIP(hipMemPoolCreate(&pool, &properties));
  HIP(hipMallocFromPoolAsync(reinterpret_cast<void**>(&second), 64, pool, stream));
  void* owner = nullptr;
  HIP(hipPointerGetAttribute(&owner, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, second));
  EXPECT(owner == pool);
  HIP(hipFreeAsync(second, stream));
  pool_statistics(pool, stream);
  HIP(hipMemPoolDestroy(pool));

  // One that could be shared with other processes is as good as any within this one.
  properties.handleTypes = hipMemHandleTypePosixFileDescriptor;
  HIP(hipMemPoolCreate(&pool, &properties));
  HIP(hipMallocFromPoolAsync(reinterpret_cast<void**>(&second), 64, pool, stream));
  HIP(hipMemsetAsync(second, 0, 64, stream));
  HIP(hipFreeAsync(second, stream));
  HIP(hipMemPoolDestroy(pool));
}

int main() {
  const int n = 1000;
  int *managed, *pinned, *seen;
  HIP(hipMallocManaged(&managed, n * sizeof(int)));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&pinned), n * sizeof(int), hipHostMallocMapped));
  check(managed, n);
  HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), pinned, 0));
  check(seen, n);

  std::vector<int> own(n);
  EXPECT_ERROR(hipErrorHostMemoryNotRegistered, hipHostUnregister(own.data()));
  HIP(hipHostRegister(own.data(), n * sizeof(int), hipHostRegisterDefault));
  EXPECT_ERROR(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(own.data() + 10, 4, hipHostRegisterDefault));
  HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), own.data(), 0));
  check(seen, n);
  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, own.data() + 5));
  EXPECT(attributes.type == hipMemoryTypeHost);
  HIP(hipHostUnregister(own.data()));
  HIP(hipPointerGetAttributes(&attributes, own.data()));
  EXPECT(attributes.type == hipMemoryTypeUnregistered);
  HIP(hipPointerGetAttributes(&attributes, managed));
  EXPECT(attributes.isManaged && attributes.type == hipMemoryTypeManaged);

  size_t before, after, total;
  void* block;
  HIP(hipMemGetInfo(&before, &total));
  HIP(hipMalloc(&block, 1 << 20));
  HIP(hipMemGetInfo(&after, &total));
  EXPECT(before - after == 1 << 20);
  hipDeviceptr_t base;
  size_t bytes;
  HIP(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(block) + 100));
  EXPECT(base == block && bytes == 1 << 20);
  HIP(hipFree(block));
  HIP(hipHostFree(pinned));
  pools();
  return pass();
}
