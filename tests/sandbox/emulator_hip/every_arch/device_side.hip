// What kernels call: votes and shuffles with masks, barriers that count, atomics of every type, fences, LDS, lambdas.
#define HIP_ENABLE_WARP_SYNC_BUILTINS
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

#include "expect.h"

typedef unsigned long long Mask;
const int blocks = 5, threads = 192, all = blocks * threads;

// ---- lanes ----

struct Lanes {
  Mask ballot, same, whole;
  int any, every, agree, from, up, down, swapped;
  double wide;
  long long integer;
};

__global__ void with_masks(Lanes* out) {
  int lane = threadIdx.x % warpSize;
  Lanes s = {};
  if (lane % 2) {  // the odd lanes alone
    Mask mask = __activemask();
    s.ballot = __ballot_sync(mask, lane % 3 == 0);
    s.any = __any_sync(mask, lane == 5);
    s.every = __all_sync(mask, lane % 2);
    s.same = __match_any_sync(mask, lane % 5);
    s.whole = __match_all_sync(mask, 7.5f, &s.agree);
    s.from = __shfl_sync(mask, 100 + lane, 9);
    s.up = __shfl_up_sync(mask, lane, 2, 16);
    s.down = __shfl_down_sync(mask, lane, 4, 16);
    s.swapped = __shfl_xor_sync(mask, lane, 6);
    s.wide = __shfl_sync(mask, lane + 0.25, 3, 8);
    s.integer = __shfl_sync(mask, 1ll << 40 | lane, 31);
  }
  out[threadIdx.x] = s;
}

static void lanes(int wave) {
  Lanes* out;
  HIP(hipMallocManaged(&out, threads * sizeof *out));
  with_masks<<<1, threads>>>(out);
  HIP(hipDeviceSynchronize());
  for (int t = 0; t < threads; t++) {
    int lane = t % wave;
    Mask ballot = 0, same = 0, odd = 0;
    for (int l = 1; l < wave; l += 2) odd |= 1ull << l, ballot |= static_cast<Mask>(l % 3 == 0) << l, same |= static_cast<Mask>(l % 5 == lane % 5) << l;
    const Lanes& s = out[t];
    if (lane % 2 == 0) continue;
    EXPECT(s.ballot == ballot && s.same == same && s.whole == odd && s.agree == 1 && s.any && s.every);
    EXPECT(s.from == 109 && s.up == (lane % 16 < 2 ? lane : lane - 2) && s.down == (lane % 16 >= 12 ? lane : lane + 4));
    EXPECT(s.swapped == (lane ^ 6) && s.wide == lane / 8 * 8 + 3.25 && s.integer == (1ll << 40 | 31));
  }
}

// ---- barriers that tell ----

__global__ void counting(int* out) {
  int t = threadIdx.x;
  int count = __syncthreads_count(t % 5 == 0), both = __syncthreads_and(t < 1000), none = __syncthreads_and(t != 100);
  int either = __syncthreads_or(t == 150), nobody = __syncthreads_or(t > 1000);
  out[t] = count * 16 + !!both * 8 + !!none * 4 + !!either * 2 + !!nobody;
}

static void barriers() {
  int* out;
  HIP(hipMallocManaged(&out, threads * sizeof *out));
  counting<<<1, threads>>>(out);
  HIP(hipDeviceSynchronize());
  for (int t = 0; t < threads; t++) EXPECT(out[t] == (threads + 4) / 5 * 16 + 8 + 2);
}

// ---- atomics: each thread adds its share, in memory and in LDS; a permutation of old values shows that none was lost ----

template <class T> struct Sums {
  T add, sub, low, high, exchanged, chain;
  int wrong;
};

template <class T> __device__ void work_on(Sums<T>* s, int t, int n, T* old) {
  *old = atomicAdd(&s->add, T(1));
  atomicSub(&s->sub, T(2));
  atomicMin(&s->low, T(t));
  atomicMax(&s->high, T(t));
  atomicExch(&s->exchanged, T(t));
  T seen = s->chain, before;
  do {
    before = seen;
    seen = atomicCAS(&s->chain, before, before + T(t % 3));
  } while (seen != before);
}

template <class T> __global__ void atomics(Sums<T>* global, T* old, Sums<T>* of_lds) {
  __shared__ Sums<T> local;
  T mine;
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) local = *of_lds;
  __syncthreads();
  work_on(global, t, all, &old[t]);
  work_on(&local, threadIdx.x, threads, &mine);
  if (!(mine >= T(0) && mine < T(threads))) atomicAdd(&global->wrong, 1);
  __syncthreads();
  if (t == 0) of_lds[1] = local;
}

template <class T> static void check_sums(const Sums<T>& s, int n) {
  long long chain = 0;
  for (int t = 0; t < n; t++) chain += t % 3;
  EXPECT(s.add == T(n) && s.sub == T(5000 - 2 * n) && s.low == T(0) && s.high == T(n - 1));
  EXPECT(s.exchanged >= T(0) && s.exchanged < T(n) && s.chain == T(chain) && s.wrong == 0);
}

template <class T> static void atomics_of() {
  Sums<T>* sums;
  T* old;
  HIP(hipMallocManaged(&sums, 3 * sizeof *sums));
  HIP(hipMallocManaged(&old, all * sizeof *old));
  sums[0] = sums[1] = Sums<T>{T(0), T(5000), T(100000), T(0), T(0), T(0), 0};
  atomics<<<blocks, threads>>>(&sums[0], old, &sums[1]);
  HIP(hipDeviceSynchronize());
  check_sums(sums[0], all);
  check_sums(sums[2], threads);
  bool seen[all] = {};
  for (int t = 0; t < all; t++) {
    int value = static_cast<int>(old[t]);
    EXPECT(value >= 0 && value < all && !seen[value]);
    seen[value] = true;
  }
}

struct Others {
  unsigned up, down, ands, ors, xors;
  Mask wide_ands, wide_ors, wide_xors;
  __half2 halves;
  __hip_bfloat162 brains;
  float fast;
  double fast_wide, lowest, highest;
  int scopes[5];
  unsigned system;
};

__global__ void others(Others* o) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicInc(&o->up, 99);
  atomicDec(&o->down, 99);
  atomicAnd(&o->ands, ~(1u << t % 8));
  atomicOr(&o->ors, 1u << t % 32);
  atomicXor(&o->xors, t);
  atomicAnd(&o->wide_ands, ~(1ull << (32 + t % 8)));
  atomicOr(&o->wide_ors, 1ull << t % 64);
  atomicXor(&o->wide_xors, static_cast<Mask>(t) << 32);
  unsafeAtomicAdd(&o->halves, __half2(__float2half(1), __float2half(0.5f)));
  if (t < 100) unsafeAtomicAdd(&o->brains, __hip_bfloat162(__float2bfloat16(1), __float2bfloat16(2)));
  unsafeAtomicAdd(&o->fast, 0.5f);
  unsafeAtomicAdd(&o->fast_wide, 0.25);
  atomicMin(&o->lowest, -1.5 * t);
  atomicMax(&o->highest, 1.5 * t);
  atomicAdd_system(&o->system, 3u);
  __hip_atomic_fetch_add(&o->scopes[0], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SINGLETHREAD);
  __hip_atomic_fetch_add(&o->scopes[1], 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WAVEFRONT);
  __hip_atomic_fetch_add(&o->scopes[2], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&o->scopes[3], 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(&o->scopes[4], 1, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
}

static void other_atomics() {
  Others* o;
  HIP(hipMalloc(&o, sizeof *o));
  HIP(hipMemset(o, 0, sizeof *o));
  HIP(hipMemset(&o->ands, 0xff, 4));
  HIP(hipMemset(&o->wide_ands, 0xff, 8));
  others<<<blocks, threads>>>(o);
  Others s;
  HIP(hipMemcpy(&s, o, sizeof s, hipMemcpyDeviceToHost));
  unsigned xors = 0;
  for (int t = 0; t < all; t++) xors ^= t;
  EXPECT(s.up == all % 100 && s.down == (100 - all % 100) % 100 && s.ands == ~0xffu && s.ors == ~0u && s.xors == xors);
  EXPECT(s.wide_ands == ~(0xffull << 32) && s.wide_ors == ~0ull && s.wide_xors == static_cast<Mask>(xors) << 32);
  EXPECT(__half2float(s.halves.x) == all && __half2float(s.halves.y) == all / 2);
  EXPECT(__bfloat162float(s.brains.x) == 100 && __bfloat162float(s.brains.y) == 200);
  EXPECT(s.fast == all / 2 && s.fast_wide == all / 4 && s.lowest == -1.5 * (all - 1) && s.highest == 1.5 * (all - 1));
  EXPECT(s.system == 3u * all);
  for (int scope : s.scopes) EXPECT(scope == all);
}

// ---- memory between workgroups, LDS that the launch sizes, code that is handed over ----

__device__ int message, ready;

__global__ void pass_on(int* out) {  // the last workgroup to come sums up what all have written
  __shared__ bool last;
  out[blockIdx.x] = blockIdx.x * 10;
  __threadfence();
  if (threadIdx.x == 0) last = atomicAdd(&ready, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence_system();
    int sum = 0;
    for (unsigned k = 0; k < gridDim.x; k++) sum += reinterpret_cast<volatile int*>(out)[k];
    message = sum;
    ready = 0;
  }
  __threadfence_block();
}

template <class F> __global__ void apply(F f, int* data) {
  extern __shared__ int tile[];
  double* doubles = reinterpret_cast<double*>(tile + blockDim.x);
  tile[threadIdx.x] = f(threadIdx.x);
  doubles[threadIdx.x] = 0.5 * threadIdx.x;
  __syncthreads();
  int other = blockDim.x - 1 - threadIdx.x;
  data[threadIdx.x] = tile[other] + static_cast<int>(2 * doubles[other]);
}

struct Node {
  int value;
  Node* next;
};

__global__ void heap(int* out) {  // a list of each lane's own
  Node* list = nullptr;
  for (int k = 0; k <= static_cast<int>(threadIdx.x % 4); k++) list = new Node{k * static_cast<int>(threadIdx.x), list};
  int sum = 0;
  while (list) {
    Node* next = list->next;
    sum += list->value;
    delete list;
    list = next;
  }
  int* many = new int[10 + threadIdx.x]();
  sum += many[9 + threadIdx.x];
  delete[] many;
  out[threadIdx.x] = sum;
}

static void memory() {
  int *out, sum;
  HIP(hipMallocManaged(&out, threads * sizeof *out));
  pass_on<<<20, 64>>>(out);
  HIP(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(message), sizeof sum));
  EXPECT(sum == 1900);
  int factor = 3;
  apply<<<1, 128, 128 * 12>>>([=] __device__(int x) { return factor * x + 1; }, out);
  HIP(hipDeviceSynchronize());
  for (int t = 0; t < 128; t++) EXPECT(out[t] == 3 * (127 - t) + 1 + (127 - t));
  heap<<<1, threads>>>(out);
  HIP(hipDeviceSynchronize());
  for (int t = 0; t < threads; t++) EXPECT(out[t] == t * (t % 4) * (t % 4 + 1) / 2);
}

// Two kernels, because clang 22 crashes for gfx1100 where one has both.
__global__ void stop_by_abort(bool stops, int* out) {
  if (stops) abort();
  *out = 1;
}
__global__ void stop_by_trap(bool stops, int* out) {
  if (stops) __builtin_trap();
  *out = 1;
}

int main() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  lanes(properties.warpSize);
  barriers();
  atomics_of<int>();
  atomics_of<unsigned>();
  atomics_of<unsigned long long>();
  atomics_of<float>();
  atomics_of<double>();
  other_atomics();
  memory();
  int* out;
  HIP(hipMallocManaged(&out, sizeof *out));
  for (auto stop : {stop_by_abort, stop_by_trap}) {
    stop<<<1, 64>>>(true, out);
    EXPECT_ERROR(hipErrorLaunchFailure, hipDeviceSynchronize());
    HIP(hipDeviceReset());
  }
  stop_by_trap<<<1, 64>>>(false, out);
  HIP(hipDeviceSynchronize());
  return pass();
}
