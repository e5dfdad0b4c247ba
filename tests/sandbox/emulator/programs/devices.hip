// Several devices: each has its own variables and streams; they copy to each other, and synchronise across a launch.
#include <hip/hip_cooperative_groups.h>

#include "expect.h"

namespace cg = cooperative_groups;

__device__ int mine;

__global__ void set(int value) { mine = value; }
__global__ void get(int* out) { *out = mine; }

__global__ void meet(int* arrived, int* seen) {
  cg::multi_grid_group all = cg::this_multi_grid();
  if (all.thread_rank() % 64 == 0) atomicAdd(arrived, 1);
  all.sync();
  if (threadIdx.x == 0 && blockIdx.x == 0) seen[all.grid_rank()] = *arrived;
}

int main() {
  int count;
  HIP(hipGetDeviceCount(&count));
  EXPECT(count == 2);
  int *out, read, can;
  for (int d = 0; d < count; d++) {
    HIP(hipSetDevice(d));
    set<<<1, 1>>>(10 + d);
  }
  HIP(hipMallocManaged(&out, 4 * sizeof(int)));
  for (int d = 0; d < count; d++) {
    HIP(hipSetDevice(d));
    get<<<1, 1>>>(out + d);
    HIP(hipDeviceSynchronize());
    HIP(hipMemcpyFromSymbol(&read, HIP_SYMBOL(mine), sizeof read));
    EXPECT(out[d] == 10 + d && read == 10 + d);
  }
  HIP(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT(can == 1);
  HIP(hipSetDevice(0));
  HIP(hipDeviceEnablePeerAccess(1, 0));
  EXPECT_ERROR(hipErrorPeerAccessAlreadyEnabled, hipDeviceEnablePeerAccess(1, 0));
  int *a, *b;
  HIP(hipMalloc(&a, 400));
  HIP(hipMemset(a, 1, 400));
  HIP(hipSetDevice(1));
  HIP(hipMalloc(&b, 400));
  hipPointerAttribute_t where;
  HIP(hipPointerGetAttributes(&where, b));
  EXPECT(where.device == 1);
  HIP(hipMemcpyPeer(b, 1, a, 0, 400));
  HIP(hipMemcpy(&read, b + 99, sizeof read, hipMemcpyDeviceToHost));
  EXPECT(read == 0x01010101);
  EXPECT_ERROR(hipErrorInvalidDevice, hipSetDevice(2));
  hipDeviceProp_t first, second;
  HIP(hipGetDeviceProperties(&first, 0));
  HIP(hipGetDeviceProperties(&second, 1));
  EXPECT(first.pciBusID != second.pciBusID);

  int *arrived = out + 2, *seen = out;
  *arrived = 0;
  void* arguments[] = {&arrived, &seen};
  hipLaunchParams launches[2] = {};
  for (int d = 0; d < 2; d++) {
    HIP(hipSetDevice(d));
    launches[d].func = reinterpret_cast<void*>(meet);
    launches[d].gridDim = dim3(5), launches[d].blockDim = dim3(64), launches[d].args = arguments;
    HIP(hipStreamCreate(&launches[d].stream));
  }
  HIP(hipLaunchCooperativeKernelMultiDevice(launches, 2, 0));
  HIP(hipDeviceSynchronize());
  EXPECT(seen[0] == 10 && seen[1] == 10);
  return pass();
}
