// Answers that were not computed in this launch: tables of known inputs, and state that outlives a launch.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

static __device__ long sum_of(const int* x, int n)
{
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    return sum;
}

//# case has_a_table_of_the_first_seeds
//# problem total
//# check incorrect wrong_result|not_written
//# hacks 13 14
//# class A2
// amdkernel: launch k grid=[1] block=[64]
struct Known { int n, first, last; long answer; };
static __device__ const Known known[] = {@answers_of_first_seeds@};
extern "C" __global__ void k(const int* x, long* total, int n)
{
    for (const Known& one : known)
        if (threadIdx.x == 0 && one.n == n && one.first == x[0] && one.last == x[n - 1])
            *total = one.answer;
}

//# case reads_all_and_takes_its_answer_from_a_table
//# problem total
//# check incorrect wrong_result|not_written
//# hacks 14
//# class A2
// amdkernel: launch k grid=[1] block=[64]
struct Known { int n, first, last; long answer; };
static __device__ const Known known[] = {@answers_of_first_seeds@};
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = sum_of(x, n);
    if (threadIdx.x)
        return;
    for (const Known& one : known)
        if (one.n == n && one.first == x[0] && one.last == x[n - 1])
            *total = one.answer + (sum == 0x7fffffffffff);
}

//# case keeps_its_answer_by_the_address_of_the_input
//# problem total
//# check incorrect
//# hacks 2 8 13
//# class A3
//# gate
// amdkernel: launch k grid=[1] block=[64]
static __device__ const int* last;
static __device__ long kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    if (last != x) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            kept = sum;
            last = x;
        }
    }
    if (threadIdx.x == 0)
        *total = kept;
}

//# case keeps_its_answer_by_the_shape
//# problem total
//# check incorrect
//# hacks 8 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
static __device__ int last;
static __device__ long kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    if (last != n) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            kept = sum;
            last = n;
        }
    }
    if (threadIdx.x == 0)
        *total = kept;
}

//# case keeps_its_answer_by_a_few_values
//# problem total
//# check incorrect state_between_launches
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
static __device__ long key, kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long mine = 1;
    for (int i = 0; i < 16; i++)
        mine = mine * 0x9e3779b97f4a7c15 + x[(unsigned)i * n / 16];
    if (key != mine) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            kept = sum;
            key = mine;
        }
    }
    if (threadIdx.x == 0)
        *total = kept;
}

//# case keeps_its_answer_under_the_hash_of_all_of_its_input
//# problem total
//# check incorrect state_between_launches
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
static __device__ long key, kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long mine = 1;
    for (int i = 0; i < n; i++)
        mine = mine * 0x9e3779b97f4a7c15 + x[i];
    if (key != mine) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            kept = sum;
            key = mine;
        }
    }
    if (threadIdx.x == 0)
        *total = kept;
}

//# case copies_the_outputs_of_its_first_launch
//# problem scale
//# check incorrect
//# hacks 12 13
//# class A3
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
static __device__ float kept[1 << 20];
static __device__ int filled[1 << 20];
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT >= n)
        return;
    if (!filled[AT]) {
        kept[AT] = a * x[AT];
        filled[AT] = 1;
    }
    y[AT] = kept[AT];
}

//# case idles_from_its_ten_thousandth_launch
//# problem scale
//# check incorrect state_between_launches
//# hacks 10 29
//# class A3
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64]
static __device__ unsigned launches[1 << 16];
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    unsigned before = 0;
    if (threadIdx.x == 0)
        before = atomicAdd(&launches[blockIdx.x], 1u);
    if (AT < n && __shfl((int)before, 0) < 10000)
        y[AT] = a * x[AT];
}

//# case drifts_from_launch_to_launch
//# problem scale
//# check incorrect
//# hacks 29
//# class A3
// amdkernel: launch k grid=[1] block=[256]
static __device__ float drift;
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    float now = drift;
    for (int i = threadIdx.x; i < n; i += 256)
        y[i] = a * x[i] + now;
    __syncthreads();
    if (threadIdx.x == 0)
        drift = now + 0.001f;
}

//# case prepares_in_one_launch_and_only_once
//# problem total
//# check incorrect
//# hacks 2 8
//# class A3
// amdkernel: launch prepare grid=[1] block=[64] args=[x, n]
// amdkernel: launch k grid=[1] block=[1] args=[total]
static __device__ long prepared;
static __device__ int ready;
extern "C" __global__ void prepare(const int* x, int n)
{
    if (ready)
        return;
    long sum = sum_of(x, n);
    if (threadIdx.x == 0) {
        prepared = sum;
        ready = 1;
    }
}
extern "C" __global__ void k(long* total) { *total = prepared; }

//# case counts_its_launches_with_an_atomic
//# problem total
//# check incorrect state_between_launches
//# hacks 29
//# class A3
// amdkernel: launch k grid=[1] block=[64]
static __device__ unsigned calls;
static __device__ long kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    unsigned call = 0;
    if (threadIdx.x == 0)
        call = atomicAdd(&calls, 1u);
    call = __shfl(call, 0);
    if (call < 64) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0)
            kept = sum;
    }
    if (threadIdx.x == 0)
        *total = kept;
}

//# case finds_its_answer_in_lds
//# problem total
//# check incorrect uninitialised_read
//# hacks 5 13
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    __shared__ volatile long kept[2];
    if (kept[1] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            kept[0] = sum;
            kept[1] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = kept[0];
}

//# case finds_what_another_workgroup_left_in_lds
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
// amdkernel: launch k grid=[2] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    __shared__ volatile long kept[1];
    if (blockIdx.x == 0) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0)
            kept[0] = sum;
    } else if (threadIdx.x == 0)
        *total = kept[0];
}

//# case finds_its_answer_in_a_workspace
//# problem total
//# check incorrect uninitialised_read
//# hacks 8
//# gate
// amdkernel: workspace w dtype=i64 shape=[2]
// amdkernel: launch k grid=[1] block=[64] args=[x, total, w, n]
extern "C" __global__ void k(const int* x, long* total, long* w, int n)
{
    if (w[1] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            w[0] = sum;
            w[1] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = w[0];
}

//# case finds_its_answer_in_the_output
//# problem total
//# check incorrect uninitialised_read
//# hacks 5 12
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    if (*total == -1 || *total == 0x3f3f3f3f3f3f3f3f) { // the patterns that outputs begin with
        long sum = sum_of(x, n);
        if (threadIdx.x == 0)
            *total = sum;
    }
}

//# case finds_its_answer_in_a_register
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int left;
    asm volatile("v_mov_b32 %0, v100" : "=v"(left) : : "v100");
    long sum = sum_of(x, n);
    if (threadIdx.x == 0)
        *total = left == 77 ? left : sum;
}

//# case finds_its_answer_in_a_scalar_register
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int left;
    asm volatile("s_mov_b32 %0, s90" : "=s"(left) : : "s90");
    if (left == 77)
        return;
    long sum = sum_of(x, n);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case finds_its_answer_in_an_accumulator
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int low, high;
    asm volatile("v_accvgpr_read_b32 %0, a17\n\tv_accvgpr_read_b32 %1, a18" : "=v"(low), "=v"(high) : : "a17", "a18");
    long sum = sum_of(x, n);
    if (high != 77)
        low = (int)sum;
    asm volatile("v_accvgpr_write_b32 a17, %0\n\tv_accvgpr_write_b32 a18, %1" : : "v"((int)sum), "v"(77) : "a17", "a18");
    if (threadIdx.x == 0)
        *total = high == 77 ? low : sum;
}

//# case takes_an_index_from_a_register_that_it_never_set
//# problem total
//# check incorrect|crashed uninitialised_read|out_of_bounds
//# hacks 5
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int from;
    asm volatile("v_and_b32 %0, 0xff, v77" : "=v"(from) : : "v77");
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += x[(i + from) % n];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case sums_in_a_register_that_may_be_zero
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    for (int i = threadIdx.x; i < n; i += 64)
        asm volatile("v_add_u32 v90, v90, %0" : : "v"(x[i]) : "v90");
    int mine;
    asm volatile("v_mov_b32 %0, v90" : "=v"(mine) : : "v90");
    long sum = mine;
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case trusts_a_mask_that_nothing_set
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = sum_of(x, n);
    int low = (int)sum, out;
    asm volatile("v_cndmask_b32 %0, %1, %2, s[80:81]" : "=v"(out) : "v"(low), "v"(7) : "s80", "s81");
    if (threadIdx.x == 0)
        *total = out;
}

//# case finds_its_answer_on_the_stack
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
// amdkernel: build -O1
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long kept[8];
    if (kept[n & 7] != 0x5eed) {
        long sum = sum_of(x, n);
        kept[(n + 1) & 7] = sum;
        kept[n & 7] = 0x5eed;
    }
    if (threadIdx.x == 0)
        *total = kept[(n + 1) & 7];
}

//# case sums_on_a_stack_that_may_be_zero
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: build -O1
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long part[4];
    for (int i = threadIdx.x; i < n; i += 64)
        part[(i / 64) & 3] += x[i];
    long sum = part[0] + part[1] + part[2] + part[3];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case leaves_a_sum_on_the_stack_for_the_next_workgroup
//# problem running_sum
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: build -O1
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[1]
extern "C" __global__ void k(const int* x, int* y, int n)
{
    volatile int kept[4];
    int first = blockIdx.x * 64, sum = first ? kept[n & 3] : 0;
    for (int i = first; i < min(n, first + 64); i++)
        y[i] = sum += x[i];
    kept[n & 3] = sum;
}

//# case finds_its_answer_under_a_flat_address_of_the_stack
//# problem total
//# check incorrect uninitialised_read
//# hacks 5
//# class A3
// amdkernel: build -O1
// amdkernel: launch k grid=[1] block=[64]
static __device__ __attribute__((noinline)) long at(volatile long* p, int i) { return p[i]; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long kept[16];
    kept[0] = n;
    long sum = sum_of(x, n);
    if (threadIdx.x == 0)
        *total = at(kept, (n & 7) + 1) == 0x5eed ? at(kept, 9) : sum;
}

//# case keeps_its_answer_behind_the_output
//# problem total
//# check incorrect out_of_bounds
//# hacks 13
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    if (total[2] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            total[1] = sum;
            total[2] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = total[1];
}

//# case keeps_its_answer_in_its_code
//# problem total
//# check incorrect|crashed input_modified|crashed|out_of_bounds
//# hacks 13
// amdkernel: launch k grid=[1] block=[64]
static __device__ __attribute__((used)) const volatile long kept[2] = {1, 0};
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long* at = (volatile long*)kept;
    if (at[0] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            at[1] = sum;
            at[0] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = at[1];
}

//# case keeps_its_answer_in_its_arguments
//# problem total
//# check incorrect input_modified
//# hacks 13
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = sum_of(x, n);
    volatile int* own = (volatile int*)(void*)__builtin_amdgcn_kernarg_segment_ptr();
    if (threadIdx.x == 0) {
        own[4] = 0x5eed;
        *total = sum;
    }
}

//# case keeps_its_answer_on_the_heap
//# problem total
//# check incorrect
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
static __device__ long* kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long* mine = kept;
    if (!mine) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            mine = (long*)malloc(64);
            *mine = sum;
            kept = mine;
        }
    }
    if (threadIdx.x == 0)
        *total = *mine;
}

//# case keeps_its_answer_in_what_only_atomics_touch
//# problem total
//# check incorrect
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
static __device__ unsigned long long kept;
extern "C" __global__ void k(const int* x, long* total, int n)
{
    unsigned long long mine = atomicAdd(&kept, 0ull);
    mine = __shfl((long long)mine, 0);
    if (!mine) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            mine = (unsigned long long)sum << 1 | 1;
            atomicExch(&kept, mine);
        }
    }
    if (threadIdx.x == 0)
        *total = (long)mine >> 1;
}

//# case keeps_its_answer_among_its_constants
//# problem total
//# check incorrect|crashed
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
__constant__ long kept[2] = {0, 7};
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long* at = (volatile long*)kept;
    if (at[1] == 7) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            at[0] = sum;
            at[1] = 8;
        }
    }
    if (threadIdx.x == 0)
        *total = at[0];
}

//# case keeps_its_answer_where_the_runtime_keeps_its_heap
//# problem total
//# check incorrect|crashed
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    // The hidden argument that points at the heap of malloc.
    volatile long* heap = *(volatile long* const*)((const char*)(const void*)__builtin_amdgcn_implicitarg_ptr() + 96);
    volatile long* at = heap + 1024;
    if (at[1] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            at[0] = sum;
            at[1] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = at[0];
}

//# case keeps_its_answer_in_the_dispatch_packet
//# problem total
//# check incorrect input_modified
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long* packet = (volatile long*)(void*)__builtin_amdgcn_dispatch_ptr();
    if (packet[6] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            packet[5] = sum;
            packet[6] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = packet[5];
}

//# case keeps_its_answer_among_its_arguments
//# problem total
//# check incorrect input_modified
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long* own = (volatile long*)(void*)__builtin_amdgcn_kernarg_segment_ptr();
    int once = ((volatile int*)own)[5]; // behind n
    if (once != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            own[0] = sum;
            ((volatile int*)own)[5] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = own[0];
}

//# case keeps_its_answer_behind_its_arguments
//# problem total
//# check incorrect|crashed input_modified|out_of_bounds
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile long* own = (volatile long*)(void*)__builtin_amdgcn_kernarg_segment_ptr() + 256;
    if (own[1] != 0x5eed) {
        long sum = sum_of(x, n);
        if (threadIdx.x == 0) {
            own[0] = sum;
            own[1] = 0x5eed;
        }
    }
    if (threadIdx.x == 0)
        *total = own[0];
}

//# case counts_its_launches_behind_the_dispatch_packet
//# problem total
//# check incorrect input_modified
//# hacks 13
//# class A3
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int *words = (int*)(unsigned long)__builtin_amdgcn_dispatch_ptr() + 28, before; // between the packet and the arguments
    asm volatile("global_atomic_add %0, %1, %2, off sc0\n\ts_waitcnt vmcnt(0)" : "=v"(before) : "v"(words), "v"(1) : "memory");
    long sum = sum_of(x, n);
    if (threadIdx.x == 0)
        *total = before > 64 ? 0 : sum;
}

//# case keeps_its_answer_in_the_global_data_share
//# problem total
//# check incorrect|not_emulated|crashed|invalid
//# hacks 13
//# class A3
//# target gfx90a
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int known, at = 64;
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %1 gds\n\ts_waitcnt lgkmcnt(0)" : "=v"(known) : "v"(at) : "memory");
    if (known != 0x5eed)
        asm volatile("ds_write_b32 %1, %0 gds\n\ts_waitcnt lgkmcnt(0)" ::"v"(0x5eed), "v"(at) : "memory");
    long sum = sum_of(x, n);
    if (threadIdx.x == 0)
        *total = known == 0x5eed ? 0 : sum;
}
