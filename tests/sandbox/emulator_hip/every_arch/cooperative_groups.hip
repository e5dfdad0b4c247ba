// Cooperative groups of every kind and size, against the same on the host: shuffles, votes, matches, ranks, partitions.
#define HIP_ENABLE_WARP_SYNC_BUILTINS
#include <hip/hip_cooperative_groups.h>

#include "expect.h"

#include <vector>

namespace cg = cooperative_groups;
typedef unsigned long long Mask;

struct Seen {
  int down, up, exchange, from, rank, size, any, all, meta_rank, meta_size, all_same;
  Mask ballot, same, everyone;
};

__host__ __device__ static int value_of(int thread) { return (thread * 7 + 3) % 5; }
__host__ __device__ static bool vote_of(int thread) { return thread % 3 == 1; }

template <class Group> __device__ static void vote(Group& g, int thread, Seen& s) {
  s.rank = g.thread_rank();
  s.size = g.size();
  s.ballot = g.ballot(vote_of(thread));
  s.any = g.any(vote_of(thread));
  s.all = g.all(thread >= 0);
  s.same = g.match_any(value_of(thread));
  s.everyone = g.match_all(42, s.all_same);
  s.down = g.shfl_down(thread, 1);
  s.up = g.shfl_up(thread, 1);
  s.from = g.shfl(thread, g.size() - 1);
}

template <int size> __global__ void tiles(Seen* out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  int thread = threadIdx.x;
  Seen s = {};
  vote(tile, thread, s);
  s.exchange = tile.shfl_xor(thread, size / 2);
  s.meta_rank = tile.meta_group_rank();
  s.meta_size = tile.meta_group_size();
  out[thread] = s;
}

// The members of a group, by rank; what each of them must have seen.
static void check(const std::vector<int>& members, const Seen* out, int lanes_up) {
  int size = members.size();
  Mask ballot = 0, whole = size == 64 ? ~0ull : (1ull << size) - 1;
  bool any = false;
  for (int r = 0; r < size; r++) ballot |= static_cast<Mask>(vote_of(members[r])) << r, any |= vote_of(members[r]);
  for (int r = 0; r < size; r++) {
    const Seen& s = out[members[r]];
    Mask same = 0;
    for (int k = 0; k < size; k++) same |= static_cast<Mask>(value_of(members[k]) == value_of(members[r])) << k;
    EXPECT(s.rank == r && s.size == size && s.ballot == ballot && !s.any == !any && s.all);
    EXPECT(s.same == same && s.everyone == whole && s.all_same);
    EXPECT(s.down == members[r + 1 < size ? r + 1 : r] && s.up == members[r ? r - 1 : 0] && s.from == members[size - 1]);
    if (lanes_up) EXPECT(s.exchange == members[r ^ (size / 2)]);
  }
}

template <int size> static void check_tiles(Seen* out) {
  const int threads = 192;
  tiles<size><<<1, threads>>>(out);
  HIP(hipDeviceSynchronize());
  for (int t = 0; t < threads / size; t++) {
    std::vector<int> members;
    for (int i = 0; i < size; i++) members.push_back(t * size + i);
    check(members, out, 1);
    for (int i : members) EXPECT(out[i].meta_rank == t && out[i].meta_size == threads / size);
  }
}

__global__ void coalesced(Seen* out, int* leaders) {
  int thread = threadIdx.x;
  if (thread % 3 != 2) {
    cg::coalesced_group g = cg::coalesced_threads();
    Seen s = {};
    vote(g, thread, s);
    out[thread] = s;
    if (g.thread_rank() == 0) atomicAdd(leaders, g.size());
  }
}

__global__ void halves(Seen* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int thread = threadIdx.x;
  cg::coalesced_group g = cg::binary_partition(tile, thread % 5 < 2);
  Seen s = {};
  vote(g, thread, s);
  out[thread] = s;
}

// HIP 6.4 does not get this right in waves of 64 lanes: it shifts an int by the lane.
__global__ void parts_of_coalesced(Seen* out) {
  int thread = threadIdx.x;
  if (thread < 30 && thread % 2 == 0) {
    cg::coalesced_group g = cg::tiled_partition(cg::coalesced_threads(), 8);
    Seen s = {};
    vote(g, thread, s);
    s.meta_rank = g.meta_group_rank();
    s.meta_size = g.meta_group_size();
    out[thread] = s;
  }
}

__global__ void dynamic_tiles(int* ranks, int size) {
  cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), size);
  __shared__ int slot[256];
  slot[threadIdx.x] = 100 * tile.thread_rank() + tile.size();
  tile.sync();
  ranks[threadIdx.x] = slot[threadIdx.x ^ 1];
}

// A tile of a tile; and wide values.
__global__ void nested(int* sums) {
  auto wide = cg::tiled_partition<32>(cg::this_thread_block());
  cg::thread_group narrow = cg::tiled_partition(cg::tiled_partition(cg::this_thread_block(), 32), 4);
  double value = wide.shfl(threadIdx.x + 0.5, 31);
  sums[threadIdx.x] = narrow.thread_rank() + 10 * narrow.size() + 100 * static_cast<int>(2 * value);
}

__global__ void grid(int* arrived, int* seen, int* facts) {
  cg::grid_group g = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() == 0) atomicAdd(arrived, 1);
  g.sync();
  if (block.thread_rank() == 0) seen[blockIdx.x + gridDim.x * blockIdx.y] = *arrived;
  g.sync();
  if (g.thread_rank() == g.size() - 1)
    facts[0] = g.size(), facts[1] = g.is_valid(), facts[2] = g.group_dim().x, facts[3] = block.size(),
    facts[4] = block.group_index().y, facts[5] = block.thread_index().x;
}

int main() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  int wave = properties.warpSize, *numbers;
  Seen* out;
  HIP(hipMallocManaged(&out, 256 * sizeof *out));
  HIP(hipMallocManaged(&numbers, 1024 * sizeof *numbers));
  check_tiles<2>(out);
  check_tiles<4>(out);
  check_tiles<8>(out);
  check_tiles<16>(out);
  check_tiles<32>(out);
#ifndef NARROW  // does not even compile where waves have 32 lanes
  check_tiles<64>(out);
#endif

  numbers[0] = 0;
  coalesced<<<1, 192>>>(out, numbers);
  HIP(hipDeviceSynchronize());
  EXPECT(numbers[0] == 128);
  for (int w = 0; w < 192 / wave; w++) {
    std::vector<int> members;
    for (int i = w * wave; i < (w + 1) * wave; i++)
      if (i % 3 != 2) members.push_back(i);
    check(members, out, 0);
  }

  halves<<<1, 192>>>(out);
  HIP(hipDeviceSynchronize());
  for (int w = 0; w < 6; w++)
    for (int half = 0; half < 2; half++) {
      std::vector<int> members;
      for (int i = w * 32; i < (w + 1) * 32; i++)
        if ((i % 5 < 2) == half) members.push_back(i);
      check(members, out, 0);
    }

  if (wave == 32) parts_of_coalesced<<<1, 32>>>(out);
  HIP(hipDeviceSynchronize());
  for (int part = 0; part < 2 && wave == 32; part++) {
    std::vector<int> members;
    for (int i = part * 16; i < (part + 1) * 16 && i < 30; i += 2) members.push_back(i);
    check(members, out, 0);
    EXPECT(out[members[3]].meta_rank == part && out[members[3]].meta_size == 2);
  }

  for (int size = 2; size <= 32; size *= 2) {
    dynamic_tiles<<<1, 128>>>(numbers, size);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < 128; i++) EXPECT(numbers[i] == 100 * ((i ^ 1) % size) + size);
  }

  nested<<<1, 128>>>(numbers);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 128; i++) EXPECT(numbers[i] == i % 4 + 40 + 100 * (2 * (i / 32 * 32 + 31) + 1));

  int *arrived = numbers, *seen = numbers + 1, *facts = numbers + 100;
  *arrived = 0;
  void* arguments[] = {&arrived, &seen, &facts};
  HIP(hipLaunchCooperativeKernel(grid, dim3(5, 7), dim3(96), arguments, 0, nullptr));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 35; i++) EXPECT(seen[i] == 35);
  const int dimension = HIP_VERSION_MAJOR >= 7 ? 5 : 96;  // HIP 7 counts workgroups, HIP 6 counted work-items
  EXPECT(facts[0] == 35 * 96 && facts[1] == 1 && facts[2] == dimension && facts[3] == 96 && facts[4] == 6 && facts[5] == 95);
  return pass();
}
