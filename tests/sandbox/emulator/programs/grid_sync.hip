// Cooperative groups: tiles, a grid that synchronises with thousands of workgroups, and a grid that is too large for it.
#include <hip/hip_cooperative_groups.h>

#include "expect.h"

namespace cg = cooperative_groups;

// Each round adds what the left neighbour had in the round before: wrong unless all workgroups wait for each other.
__global__ void rounds(int* even, int* odd, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < 6; round++) {
    int* from = round % 2 ? odd : even;
    int* to = round % 2 ? even : odd;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) to[i] = from[i] + from[(i + n - 1) % n];
    grid.sync();
  }
}

__global__ void tiles(int* sums) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  int value = block.thread_rank();
  for (int offset = tile.size() / 2; offset; offset /= 2) value += tile.shfl_down(value, offset);
  if (tile.thread_rank() == 0) sums[block.thread_rank() / 16] = value;
}

int main(int, char** arguments) {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  int per_unit = 0, threads = 64;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, rounds, threads, 0));
  EXPECT(per_unit >= 8);
  int blocks = properties.multiProcessorCount * 8, n = blocks * threads;
  int *even, *odd;
  HIP(hipMallocManaged(&even, n * sizeof(int)));
  HIP(hipMallocManaged(&odd, n * sizeof(int)));
  for (int i = 0; i < n; i++) even[i] = i == 0;
  void* parameters[] = {&even, &odd, &n};
  HIP(hipLaunchCooperativeKernel(rounds, dim3(blocks), dim3(threads), parameters, 0, 0));
  HIP(hipDeviceSynchronize());
  const int binomial[7] = {1, 6, 15, 20, 15, 6, 1};
  for (int i = 0; i < 7; i++) EXPECT(even[i] == binomial[i]);
  EXPECT(even[7] == 0 && even[n - 1] == 0);

  int sums[16], *device_sums;
  HIP(hipMalloc(&device_sums, sizeof sums));
  tiles<<<1, 256>>>(device_sums);
  HIP(hipMemcpy(sums, device_sums, sizeof sums, hipMemcpyDeviceToHost));
  for (int t = 0; t < 16; t++) EXPECT(sums[t] == 16 * 16 * t + 120);

  dim3 too_many(properties.multiProcessorCount * per_unit + 1);
  EXPECT_ERROR(hipErrorCooperativeLaunchTooLarge, hipLaunchCooperativeKernel(rounds, too_many, dim3(threads), parameters, 0, 0));
  return pass();
}
