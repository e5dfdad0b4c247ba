// Persistent kernels: tickets that a wave takes for itself, queues of dies, pauses by the clock, look-back by waves, and
// waves that produce for others.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define BLOCK __HIP_MEMORY_SCOPE_WORKGROUP

static __device__ long wave_sum(long v)
{
    for (int o = warpSize / 2; o; o >>= 1)
        v += __shfl_down((long long)v, o);
    return v;
}

//# case waves_that_take_tickets_for_themselves
//# problem total
//# gate
// The atomic of a wave whose lanes are not all active is made of an instruction that reads EXEC.
// amdkernel: workspace next dtype=u32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, next]
// amdkernel: launch k grid=[6] block=[256] args=[x, total, next, n]
extern "C" __global__ void zero(long* total, unsigned* next) { *total = *next = 0; }
extern "C" __global__ void k(const int* x, long* total, unsigned* next, int n)
{
    while (true) {
        int item = 0;
        if (threadIdx.x % 64 == 0)
            item = (int)atomicAdd(next, 1u);
        item = __builtin_amdgcn_readfirstlane(item);
        int first = item * 128;
        if (first >= n)
            return;
        for (int i = first + threadIdx.x % 64; i < min(n, first + 128); i += 64)
            atomicAdd((unsigned long long*)total, (unsigned long long)(long)x[i]);
    }
}

//# case a_queue_whose_loop_begins_with_a_wave_barrier
//# problem total
// amdkernel: workspace next dtype=u32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, next]
// amdkernel: launch k grid=[6] block=[64] args=[x, total, next, n]
extern "C" __global__ void zero(long* total, unsigned* next) { *total = *next = 0; }
extern "C" __global__ void k(const int* x, long* total, volatile unsigned* next, int n)
{
    for (;;) {
        __builtin_amdgcn_wave_barrier(); // without it clang 22 takes lane 0 out of the loop of the others
        int item = 0;
        if (threadIdx.x == 0)
            item = (int)atomicAdd((unsigned*)next, 1u);
        item = __shfl(item, 0);
        int first = item * 128;
        if (first >= n)
            return;
        long sum = 0;
        for (int i = first + threadIdx.x; i < min(n, first + 128); i += 64)
            sum += x[i];
        sum = wave_sum(sum);
        if (threadIdx.x == 0)
            atomicAdd((unsigned long long*)total, (unsigned long long)sum);
    }
}

//# case a_static_queue_that_its_last_wave_resets
//# problem scale
//# target gfx1100
// amdkernel: launch k grid=[6] block=[32]
static __device__ volatile unsigned next;
static __device__ unsigned gone;
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    while (true) {
        unsigned item = 0;
        if (threadIdx.x == 0)
            item = atomicAdd((unsigned*)&next, 1u);
        item = __shfl(item, 0);
        int i = item * 32 + threadIdx.x;
        if (item * 32 >= (unsigned)n)
            break;
        if (i < n)
            y[i] = a * x[i];
    }
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(&gone, 5) == 5)
            next = 0;
    }
}

//# case queues_of_dies
//# problem scale
// amdkernel: workspace next dtype=u32 shape=[8]
// amdkernel: launch zero grid=[1] block=[8] args=[next]
// amdkernel: launch k grid=[24] block=[64] args=[x, y, next, n, a]
extern "C" __global__ void zero(unsigned* next) { next[threadIdx.x] = 0; }
extern "C" __global__ void k(const float* x, float* y, unsigned* next, int n, float a)
{
    // Each die takes from its own queue first, and then helps the others.
    int die;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID, 0, 4)" : "=s"(die));
    for (int other = 0; other < 8; other++) {
        int queue = (die + other) % 8;
        for (;;) {
            __builtin_amdgcn_wave_barrier();
            unsigned item = 0;
            if (threadIdx.x == 0)
                item = atomicAdd(&next[queue], 1u);
            item = __builtin_amdgcn_readfirstlane(item);
            int first = (item * 8 + queue) * 64, i = first + threadIdx.x;
            if (first >= n)
                break;
            if (i < n)
                y[i] = a * x[i];
        }
    }
}

//# case a_lock_with_a_pause_by_the_clock
//# problem total
// amdkernel: workspace lock dtype=i32 shape=[1]
// amdkernel: workspace took dtype=i64 shape=[12]
// amdkernel: launch zero grid=[1] block=[1] args=[total, lock]
// amdkernel: launch k grid=[12] block=[64] args=[x, total, lock, took, n]
extern "C" __global__ void zero(long* total, int* lock) { *total = *lock = 0; }
extern "C" __global__ void k(const int* x, long* total, int* lock, long* took, int n)
{
    long began = wall_clock64(), sum = 0;
    for (int i = AT; i < n; i += 12 * 64)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x)
        return;
    for (long pause = 16; atomicCAS(lock, 0, 1); pause = min(2 * pause, 1024l))
        for (long since = clock64(); clock64() - since < pause;)
            __builtin_amdgcn_s_sleep(1);
    __threadfence();
    *total += sum;
    __threadfence();
    atomicExch(lock, 0);
    took[blockIdx.x] = wall_clock64() - began;
}

//# case look_back_by_whole_waves
//# problem running_sum
// amdkernel: workspace state dtype=u64 shape=[ceil_div(n, 256) + 1]
// amdkernel: launch zero grid=[1] block=[64] args=[state, ceil_div(n, 256) + 1]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[x, y, state, n]
extern "C" __global__ void zero(unsigned long long* state, int m)
{
    for (int i = threadIdx.x; i < m; i += 64)
        state[i] = 0;
}
extern "C" __global__ void k(const int* x, int* y, unsigned long long* state, int n)
{
    __shared__ int ticket, waves[4], before;
    if (threadIdx.x == 0)
        ticket = (int)atomicAdd(state, 1ull);
    __syncthreads();
    int block = ticket, i = block * 256 + threadIdx.x, lane = threadIdx.x % 64, wave = threadIdx.x / 64;
    int sum = i < n ? x[i] : 0;
    for (int o = 1; o < 64; o <<= 1) {
        int left = __shfl_up(sum, o);
        sum += lane >= o ? left : 0;
    }
    if (lane == 63)
        waves[wave] = sum;
    __syncthreads();
    for (int w = 0; w < wave; w++)
        sum += waves[w];
    if (wave == 0) {
        int total = waves[0] + waves[1] + waves[2] + waves[3], prefix = 0;
        unsigned long long* mine = state + 1 + block;
        if (lane == 0)
            __hip_atomic_store(mine, (block ? 1ull : 2ull) << 32 | (unsigned)total, __ATOMIC_RELAXED, AGENT);
        for (int window = block; window > 0; window -= 64) {
            int at = window - 1 - lane;
            unsigned long long seen;
            do
                seen = at >= 0 ? __hip_atomic_load(state + 1 + at, __ATOMIC_RELAXED, AGENT) : 2ull << 32;
            while (__any(seen >> 32 == 0));
            unsigned long long whole = __ballot(seen >> 32 == 2);
            int stop = whole ? __builtin_ctzll(whole) : 63;
            int part = lane <= stop ? (int)(unsigned)seen : 0;
            for (int o = 32; o; o >>= 1)
                part += __shfl_xor(part, o);
            prefix += part;
            if (whole)
                break;
        }
        if (lane == 0) {
            before = prefix;
            if (block)
                __hip_atomic_store(mine, 2ull << 32 | (unsigned)(prefix + total), __ATOMIC_RELAXED, AGENT);
        }
    }
    __syncthreads();
    if (i < n)
        y[i] = before + sum;
}

//# case producer_and_consumer_waves
//# problem scale
// amdkernel: launch k grid=[3] block=[128]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float ring[4][64];
    __shared__ unsigned filled, emptied;
    int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
    if (threadIdx.x == 0)
        filled = emptied = 0;
    __syncthreads();
    unsigned turn = 0;
    for (int at = blockIdx.x * 64; at < n; at += 3 * 64, turn++) {
        if (wave == 0) {
            while (turn - __hip_atomic_load(&emptied, __ATOMIC_ACQUIRE, BLOCK) >= 4)
                __builtin_amdgcn_s_sleep(1);
            ring[turn % 4][lane] = at + lane < n ? x[at + lane] : 0;
            __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
            if (lane == 0)
                __hip_atomic_store(&filled, turn + 1, __ATOMIC_RELAXED, BLOCK);
        } else {
            while (__hip_atomic_load(&filled, __ATOMIC_ACQUIRE, BLOCK) <= turn)
                __builtin_amdgcn_s_sleep(1);
            float v = ring[turn % 4][lane];
            __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
            if (lane == 0)
                __hip_atomic_store(&emptied, turn + 1, __ATOMIC_RELAXED, BLOCK);
            if (at + lane < n)
                y[at + lane] = a * v;
        }
    }
}
