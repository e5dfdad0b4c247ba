// Right only if waves and workgroups run in a lucky order, all at once, or if memory answers at once.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case lacks_a_barrier
//# problem running_sum
//# check incorrect race
//# hacks 7
//# gate
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const int* x, int* y, int n)
{
    __shared__ int s[256];
    int before = 0;
    for (int first = 0; first < n; first += 256) {
        int i = first + threadIdx.x;
        s[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        int sum = before;
        for (int k = 0; k <= (int)threadIdx.x; k++)
            sum += s[k];
        for (int k = 0; k < 256; k++)
            before += s[k];
        if (i < n)
            y[i] = sum;
    }
}

//# case counts_without_atomics
//# problem counts
//# check incorrect race|wrong_result
//# hacks 7
// amdkernel: launch zero grid=[1] block=[64] args=[bins]
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64]
extern "C" __global__ void zero(int* bins) { bins[threadIdx.x] = 0; }
extern "C" __global__ void k(const int* x, int* bins, int n)
{
    for (int lane = 0; lane < 64; lane++)
        if (lane == (int)threadIdx.x && AT < n)
            ((volatile int*)bins)[x[AT]]++;
}

//# case clears_its_bins_in_the_launch_that_counts
//# problem counts
//# check incorrect race|uninitialised_read|wrong_result
//# hacks 7
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const int* x, int* bins, int n)
{
    if (blockIdx.x == 0 && threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    if (AT < n)
        atomicAdd(&bins[x[AT]], 1);
}

//# case has_a_grid_barrier_without_fences
//# problem total
//# check incorrect race
//# hacks 7
// amdkernel: workspace w dtype=i64 shape=[65]
// amdkernel: launch zero grid=[1] block=[1] args=[w]
// amdkernel: launch k grid=[8] block=[64] args=[x, total, w, n]
extern "C" __global__ void zero(long* w) { w[64] = 0; }
extern "C" __global__ void k(const int* x, long* total, long* w, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 512)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x)
        return;
    w[blockIdx.x] = sum;
    __hip_atomic_fetch_add(&w[64], 1l, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (blockIdx.x)
        return;
    while (__hip_atomic_load(&w[64], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < 8)
        ;
    sum = 0;
    for (int b = 0; b < 8; b++)
        sum += w[b];
    *total = sum;
}

//# case loses_updates_only_where_two_workgroups_meet
//# problem total
//# check incorrect race|wrong_result|non_deterministic
//# hacks 7
// amdkernel: launch zero grid=[1] block=[1] args=[total]
// amdkernel: launch k grid=[2] block=[64]
extern "C" __global__ void zero(long* total) { *total = 0; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 128)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0)
        *(volatile long*)total += sum;
}

//# case adds_with_an_atomic_load_and_an_atomic_store
//# problem total
//# check incorrect race|wrong_result|non_deterministic
//# hacks 7
// amdkernel: launch zero grid=[1] block=[1] args=[total]
// amdkernel: launch k grid=[16] block=[64]
extern "C" __global__ void zero(long* total) { *total = 0; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 1024)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0) {
        long before = __hip_atomic_load(total, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_store(total, before + sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}

//# case loses_updates_of_workgroups_that_are_far_apart
//# problem total
//# check incorrect race|wrong_result|non_deterministic
//# hacks 7
// amdkernel: workspace part dtype=i64 shape=[100]
// amdkernel: launch zero grid=[1] block=[100] args=[part]
// amdkernel: launch k grid=[200] block=[64] args=[x, part, n]
// amdkernel: launch add grid=[1] block=[1] args=[part, total]
extern "C" __global__ void zero(long* part) { part[threadIdx.x] = 0; }
extern "C" __global__ void k(const int* x, long* part, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 200 * 64)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0)
        ((volatile long*)part)[blockIdx.x % 100] += sum;
}
extern "C" __global__ void add(const long* part, long* total)
{
    *total = 0;
    for (int i = 0; i < 100; i++)
        *total += part[i];
}

//# case has_a_lock_that_two_may_take
//# problem total
//# check incorrect race|wrong_result|non_deterministic
//# hacks 7
// amdkernel: workspace lock dtype=i32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, lock]
// amdkernel: launch k grid=[8] block=[64] args=[x, total, lock, n]
extern "C" __global__ void zero(long* total, int* lock) { *total = *lock = 0; }
extern "C" __global__ void k(const int* x, long* total, int* lock, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 512)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x)
        return;
    while (*(volatile int*)lock)
        ;
    *(volatile int*)lock = 1;
    __threadfence();
    *(volatile long*)total += sum;
    __threadfence();
    *(volatile int*)lock = 0;
}

//# case takes_work_from_a_counter_that_two_may_read
//# problem total
//# check incorrect race|wrong_result|non_deterministic
//# hacks 7
// amdkernel: workspace next dtype=i32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, next]
// amdkernel: launch k grid=[6] block=[1] args=[x, total, next, n]
extern "C" __global__ void zero(long* total, int* next) { *total = *next = 0; }
extern "C" __global__ void k(const int* x, long* total, int* next, int n)
{
    for (;;) {
        int first = *(volatile int*)next;
        *(volatile int*)next = first + 64;
        if (first >= n)
            return;
        long sum = 0;
        for (int i = first; i < min(n, first + 64); i++)
            sum += x[i];
        atomicAdd((unsigned long long*)total, (unsigned long long)sum);
    }
}

//# case loses_updates_of_waves_of_one_workgroup
//# problem total
//# check incorrect race|wrong_result|non_deterministic
//# hacks 7
// amdkernel: launch zero grid=[1] block=[1] args=[total]
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void zero(long* total) { *total = 0; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 256)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x % 64 == 0)
        *(volatile long*)total += sum;
}

//# case relies_on_the_order_of_workgroups
//# problem running_sum
//# check incorrect race|wrong_result|uninitialised_read|non_deterministic
//# hacks 7
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[1]
extern "C" __global__ void k(const int* x, int* y, int n)
{
    int first = blockIdx.x * 64;
    int sum = first ? ((volatile int*)y)[first - 1] : 0;
    for (int i = first; i < min(n, first + 64); i++)
        y[i] = sum += x[i];
}

//# case waits_for_more_workgroups_than_fit
//# problem total
//# check deadlock|timeout
//# class A4
// amdkernel: workspace w dtype=i64 shape=[2]
// amdkernel: launch zero grid=[1] block=[2] args=[w]
// amdkernel: launch k grid=[700] block=[64] lds=65536 args=[x, total, w, n]
extern "C" __global__ void zero(long* w) { w[threadIdx.x] = 0; }
extern "C" __global__ void k(const int* x, long* total, long* w, int n)
{
    extern __shared__ int s[];
    s[threadIdx.x] = n;
    long sum = 0;
    for (int i = AT; i < n; i += 700 * 64)
        sum += x[i] + (s[threadIdx.x] - n);
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x)
        return;
    __hip_atomic_fetch_add(&w[0], sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_add(&w[1], 1l, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(&w[1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < 700)
        __builtin_amdgcn_s_sleep(8);
    if (blockIdx.x == 0)
        *total = __hip_atomic_load(&w[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

//# case waits_for_the_last_workgroup
//# problem total
//# check deadlock|timeout
//# class A4
// amdkernel: workspace w dtype=i64 shape=[800]
// amdkernel: launch zero grid=[1] block=[800] args=[w]
// amdkernel: launch k grid=[700] block=[64] lds=65536 args=[x, total, w, n]
extern "C" __global__ void zero(long* w) { w[threadIdx.x] = -1; }
extern "C" __global__ void k(const int* x, long* total, long* w, int n)
{
    extern __shared__ int s[];
    s[threadIdx.x] = n;
    long sum = 0;
    for (int i = AT; i < n; i += 700 * 64)
        sum += x[i] + (s[threadIdx.x] - n) + 1000;
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x)
        return;
    if (blockIdx.x < 699) { // a chain from the last to the first
        long next;
        while ((next = __hip_atomic_load(&w[blockIdx.x + 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) < 0)
            __builtin_amdgcn_s_sleep(8);
        sum += next;
    }
    __hip_atomic_store(&w[blockIdx.x], sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (blockIdx.x == 0)
        *total = sum - 1000l * n;
}

//# case waits_for_a_lock_that_its_own_wave_has
//# problem counts
//# check timeout|deadlock|incorrect
// amdkernel: workspace lock dtype=i32 shape=[1]
// amdkernel: launch zero grid=[1] block=[64] args=[bins, lock]
// amdkernel: launch k grid=[1] block=[64] args=[x, bins, lock, n]
extern "C" __global__ void zero(int* bins, int* lock) { bins[threadIdx.x] = *lock = 0; }
extern "C" __global__ void k(const int* x, int* bins, int* lock, int n)
{
    for (int i = threadIdx.x; i < n; i += 64) {
        while (atomicCAS(lock, 0, 1))
            ;
        ((volatile int*)bins)[x[i]]++;
        __threadfence();
        atomicExch(lock, 0);
    }
}

//# case uses_a_load_that_has_not_returned
//# problem scale
//# check incorrect missing_wait
//# class A6
//# gate
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT >= n)
        return;
    const float* from = x + AT;
    float v;
    asm volatile("global_load_dword %0, %1, off\n\tv_mul_f32 %0, %2, %0" : "=&v"(v) : "v"(from), "v"(a) : "memory");
    y[AT] = v;
}

//# case waits_for_all_but_the_load_that_it_uses
//# problem scale
//# check incorrect missing_wait
//# class A6
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT >= n)
        return;
    const float* from = x + AT;
    float v, other;
    asm volatile("global_load_dword %1, %2, off\n\tglobal_load_dword %0, %2, off\n\ts_waitcnt vmcnt(1)\n\t"
                 "v_mul_f32 %0, %3, %0\n\ts_waitcnt vmcnt(0)"
                 : "=&v"(v), "=&v"(other) : "v"(from), "v"(a) : "memory");
    y[AT] = v + 0 * other;
}

//# case uses_a_scalar_load_that_has_not_returned
//# problem total
//# check incorrect missing_wait
//# class A6
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        const int* from = x + i;
        int v;
        asm volatile("s_load_dword %0, %1, 0x0\n\ts_add_u32 %0, %0, 0\n\ts_waitcnt lgkmcnt(0)" : "=&s"(v) : "s"(from) : "memory");
        sum += v;
    }
    if (threadIdx.x == 0)
        *total = sum;
}

//# case uses_a_value_of_lds_that_has_not_returned
//# problem scale
//# check incorrect missing_wait
//# class A6
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float s[256];
    s[threadIdx.x] = AT < n ? x[AT] : 0;
    __syncthreads();
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) float*)(s + threadIdx.x);
    float v;
    asm volatile("ds_read_b32 %0, %1\n\tv_mul_f32 %0, %2, %0\n\ts_waitcnt lgkmcnt(0)" : "=&v"(v) : "v"(at), "v"(a) : "memory");
    if (AT < n)
        y[AT] = v;
}

//# case meets_at_a_barrier_before_its_lds_write_has_landed
//# problem scale
//# check incorrect missing_wait
//# class A6
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float s[256];
    float v = AT < n ? x[AT] : 0;
    unsigned to = (unsigned)(size_t)(__attribute__((address_space(3))) float*)(s + (threadIdx.x ^ 64));
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) float*)(s + threadIdx.x);
    float w;
    asm volatile("ds_write_b32 %1, %2\n\ts_barrier\n\tds_read_b32 %0, %3\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier"
                 : "=&v"(w) : "v"(to), "v"(v), "v"(at) : "memory");
    __shared__ float t[256];
    t[threadIdx.x] = w;
    __syncthreads();
    if (AT < n)
        y[AT] = a * t[threadIdx.x ^ 64];
}

//# case has_a_consumer_that_never_says_that_it_is_done
//# problem scale
//# check incorrect race
//# hacks 7
// amdkernel: launch k grid=[3] block=[128]
#define BLOCK __HIP_MEMORY_SCOPE_WORKGROUP
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float ring[4][64];
    __shared__ unsigned filled;
    int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
    if (threadIdx.x == 0)
        filled = 0;
    __syncthreads();
    unsigned turn = 0;
    for (int at = blockIdx.x * 64; at < n; at += 3 * 64, turn++) {
        if (wave == 0) {
            ring[turn % 4][lane] = at + lane < n ? x[at + lane] : 0;
            __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
            if (lane == 0)
                __hip_atomic_store(&filled, turn + 1, __ATOMIC_RELAXED, BLOCK);
        } else {
            while (__hip_atomic_load(&filled, __ATOMIC_ACQUIRE, BLOCK) <= turn)
                __builtin_amdgcn_s_sleep(1);
            float v = ring[turn % 4][lane];
            if (at + lane < n)
                y[at + lane] = a * v;
        }
    }
}
