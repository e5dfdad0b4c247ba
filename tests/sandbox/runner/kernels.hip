// Kernels that behave, and kernels that the runner must see through.
#include <hip/hip_runtime.h>

#define ITEM (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
}

extern "C" __global__ void does_nothing(const float* a, const float* b, float* c, int n) {}

extern "C" __global__ void spoils_its_input(float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
  if (ITEM == 7) a[7] = 0;
}

extern "C" __global__ void writes_beside(const float* a, const float* b, float* c, int n) {
  if (ITEM <= n) c[ITEM] = 1;
}

extern "C" __global__ void overruns_sooner_in_later_workgroups(const float* a, const float* b, float* c, int n) {
  volatile int left = static_cast<int>(gridDim.x - blockIdx.x) * 5000;
  while (left > 0) left -= 1;
  c[n + blockIdx.x] = 1;
}

extern "C" __global__ void reads_before(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[static_cast<int>(ITEM) - 2];
}

extern "C" __global__ void depends_on_addresses(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = static_cast<float>(reinterpret_cast<size_t>(a) >> 8 & 0xffff);
}

extern "C" __global__ void never_ends(const float* a, const float* b, volatile float* c, int n) {
  while (c[0] != 1) {
  }
}

extern "C" __global__ void counts_without_end(const float* a, const float* b, volatile float* c, int n) {
  int turns = 0;
  while (c[0] != 1) c[1] = turns++;
}

extern "C" __global__ __launch_bounds__(128) void at_most_128(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM];
}

extern "C" __global__ void doubles_in_place(float* c, int n) {
  if (ITEM < n) c[ITEM] *= 2;
}

extern "C" __global__ void double_precision(const double* a, double* c, double factor, char shift, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] * factor + shift;
}

// Kernels of many workgroups, of which a sample is checked for races.

extern "C" __global__ void reads_what_the_next_group_writes(const float* a, const float* b, float* c, int n) {
  c[ITEM] = a[ITEM];
  if (ITEM + 64 < n && c[ITEM + 64] == -1) c[ITEM] = 0;
}

extern "C" __global__ void turns_rows_round(const float* a, const float* b, float* c, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = a[ITEM];
  __syncthreads();
  c[ITEM] = tile[63 - threadIdx.x];
}

// Each workgroup adds to what the one before it left: ordered by flags, through workgroups outside the sample.
extern "C" __global__ void hands_on(const float* a, const float* b, float* c, int n) {
  int* flag = (int*)(c + n / 2);
  if (threadIdx.x) return;
  int group = blockIdx.x;
  while (group && __hip_atomic_load(&flag[group], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 7) {
  }
  c[0] = group ? c[0] + 1 : 1;
  __hip_atomic_store(&flag[group + 1], 7, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ void races_in_lds_beside_atomics(const float* a, const float* b, float* c, int n) {
  __shared__ volatile float tile[128];
  tile[threadIdx.x] = a[ITEM];
  c[ITEM] = tile[(threadIdx.x + 64) % 128];
  if (threadIdx.x == 0) __hip_atomic_fetch_add((int*)c + n - 1, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ void races_in_some_neighbours(const float* a, const float* b, float* c, int n) {
  __shared__ volatile float tile[128];
  tile[threadIdx.x] = a[ITEM];
  if (blockIdx.x / 40 != 19) __syncthreads();
  c[ITEM] = tile[(threadIdx.x + 64) % 128];
}

__device__ int launched[4096], launches;

extern "C" __global__ void right_at_its_first_launch(const float* a, const float* b, float* c, int n) {
  if (ITEM >= n) return;
  c[ITEM] = launched[ITEM] ? -1 : a[ITEM] + b[ITEM];
  launched[ITEM] = 1;
}

__device__ const float* known_place;
__device__ float known_answer[4096];

extern "C" __global__ void knows_places_again(const float* a, const float* b, float* c, int n) {
  const bool again = known_place == a;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    c[i] = again ? known_answer[i] : a[i] + b[i];
    known_answer[i] = c[i];
  }
  __syncthreads();
  known_place = a;
}

// `kept` has two floats for each element: the answer, and a mark that it is there.
extern "C" __global__ void trusts_its_workspace(const float* a, const float* b, float* c, float* kept, int n) {
  if (ITEM >= n) return;
  if (kept[2 * ITEM + 1] != 5.0f) kept[2 * ITEM] = a[ITEM] + b[ITEM];
  kept[2 * ITEM + 1] = 5.0f;
  c[ITEM] = kept[2 * ITEM];
}

extern "C" __global__ void stops_at_negative_numbers(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
  if (a[0] < 0) __builtin_trap();
}

extern "C" __global__ void stores_addresses(const float* a, const float* b, unsigned long* c, int n) {
  if (ITEM) return;
  c[0] = reinterpret_cast<unsigned long>(a);
  c[1] = reinterpret_cast<unsigned long>(b);
  c[2] = reinterpret_cast<unsigned long>(c);
  c[3] = reinterpret_cast<unsigned long>(&launches);
  c[4] = reinterpret_cast<unsigned long>(__builtin_amdgcn_kernarg_segment_ptr());
}

extern "C" __global__ void waits_at_negative_numbers(const float* a, const float* b, volatile float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
  while (a[0] < 0 && c[0] != 7) {
  }
}

extern "C" __global__ void adds_only_at_first(const float* a, const float* b, float* c, int n) {
  const int earlier = ITEM == 0 ? atomicAdd(&launches, 1) : launches;
  if (earlier < 20 && ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
}

extern "C" __global__ void adds_after_a_while(const float* a, const float* b, float* c, int n) {
  float wasted = ITEM < n ? a[ITEM] : 0;
  for (int k = 0; k < 200; k++) wasted = wasted * 0.5f + 1.0f;
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM] + (wasted > 1e30f ? 1 : 0);
}

__device__ int launches_so_far;

extern "C" __global__ void idle_after_three_launches(const float* a, const float* b, float* c, int n) {
  if (launches_so_far < 3 && ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
  __syncthreads();
  if (threadIdx.x == 0) launches_so_far++;
}
