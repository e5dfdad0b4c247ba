// Sums, scans and searches: atomics in any order, tickets, barriers of the grid that fit, look-back, work queues.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)
#define AGENT __HIP_MEMORY_SCOPE_AGENT

static __device__ long wave_sum(long v)
{
    for (int o = 32; o; o >>= 1)
        v += __shfl_down((long long)v, o);
    return v;
}

//# case blocks_that_add_with_atomics
//# problem total
// amdkernel: launch zero grid=[1] block=[1] args=[total]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void zero(long* total) { *total = 0; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = wave_sum(AT < n ? x[AT] : 0);
    if (threadIdx.x % 64 == 0)
        atomicAdd((unsigned long long*)total, (unsigned long long)sum);
}

//# case last_block_with_a_counter_that_resets_itself
//# problem total
//# gate
// amdkernel: workspace part dtype=i64 shape=[16]
// amdkernel: launch k grid=[16] block=[64] args=[x, total, part, n]
static __device__ unsigned arrived; // zero before every launch, as the last block of each leaves it so
extern "C" __global__ void k(const int* x, long* total, long* part, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 1024)
        sum += x[i];
    sum = wave_sum(sum);
    bool last = false;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&arrived, 15) == 15;
    }
    if (!__shfl((int)last, 0))
        return;
    __threadfence();
    sum = wave_sum(threadIdx.x < 16 ? part[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case static_memory_between_launches_of_one_plan
//# problem total
// amdkernel: launch first grid=[8] block=[64] args=[x, n]
// amdkernel: launch second grid=[1] block=[64] args=[total]
static __device__ long part[8];
extern "C" __global__ void first(const int* x, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 512)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}
extern "C" __global__ void second(long* total)
{
    long sum = wave_sum(threadIdx.x < 8 ? part[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case tables_of_constants
//# problem counts
// amdkernel: launch k grid=[1] block=[64]
static __device__ const int order[4] = {3, 1, 0, 2};
__constant__ int one = 1;
static __device__ int start = 0; // read and never written
extern "C" __global__ void k(const int* x, int* bins, int n)
{
    int count = start;
    for (int first = 0; first < n; first += 4)
        for (int k = 0; k < 4; k++)
            if (int i = first + order[k]; i < n)
                count += x[i] == (int)threadIdx.x ? one : 0;
    bins[threadIdx.x] = count;
}

//# case two_launches_with_a_workspace
//# problem total
// amdkernel: workspace part dtype=i64 shape=[ceil_div(n, 512)]
// amdkernel: launch first grid=[ceil_div(n, 512)] block=[64] args=[x, part, n]
// amdkernel: launch second grid=[1] block=[64] args=[part, total, ceil_div(n, 512)]
extern "C" __global__ void first(const int* x, long* part, int n)
{
    long sum = 0;
    for (int i = threadIdx.x; i < 512; i += 64)
        if (int at = blockIdx.x * 512 + i; at < n)
            sum += x[at];
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}
extern "C" __global__ void second(const long* part, long* total, int parts)
{
    long sum = 0;
    for (int i = threadIdx.x; i < parts; i += 64)
        sum += part[i];
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case barrier_of_a_grid_that_fits
//# problem total
//# gate
// amdkernel: workspace w dtype=i64 shape=[65]
// amdkernel: launch zero grid=[1] block=[1] args=[w]
// amdkernel: launch k grid=[64] block=[64] args=[x, total, w, n]
extern "C" __global__ void zero(long* w) { w[64] = 0; }
extern "C" __global__ void k(const int* x, long* total, long* w, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 64 * 64)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x == 0) {
        w[blockIdx.x] = sum;
        __hip_atomic_fetch_add(&w[64], 1l, __ATOMIC_RELEASE, AGENT);
        while (__hip_atomic_load(&w[64], __ATOMIC_ACQUIRE, AGENT) < 64)
            __builtin_amdgcn_s_sleep(2);
    }
    __syncthreads();
    if (blockIdx.x)
        return;
    sum = wave_sum(w[threadIdx.x]);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case barrier_of_a_grid_that_fits_just_so
//# problem total
//# class A4
// amdkernel: workspace w dtype=i64 shape=[2]
// amdkernel: launch zero grid=[1] block=[2] args=[w]
// amdkernel: launch k grid=[304] block=[64] lds=65536 args=[x, total, w, n]
extern "C" __global__ void zero(long* w) { w[threadIdx.x] = 0; }
extern "C" __global__ void k(const int* x, long* total, long* w, int n)
{
    extern __shared__ int s[];
    s[threadIdx.x] = n;
    long sum = 0;
    for (int i = AT; i < s[threadIdx.x]; i += 304 * 64)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x)
        return;
    __hip_atomic_fetch_add(&w[0], sum, __ATOMIC_RELAXED, AGENT);
    __hip_atomic_fetch_add(&w[1], 1l, __ATOMIC_RELEASE, AGENT);
    while (__hip_atomic_load(&w[1], __ATOMIC_ACQUIRE, AGENT) < 304)
        __builtin_amdgcn_s_sleep(8);
    if (blockIdx.x == 0)
        *total = __hip_atomic_load(&w[0], __ATOMIC_RELAXED, AGENT);
}

//# case queue_of_work
//# problem total
// A second `if (threadIdx.x == 0)` would let clang 22 take lane 0 out of the loop of the others, which then never ends.
// amdkernel: workspace next dtype=u32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, next]
// amdkernel: launch k grid=[6] block=[64] args=[x, total, next, n]
extern "C" __global__ void zero(long* total, unsigned* next) { *total = *next = 0; }
extern "C" __global__ void k(const int* x, long* total, unsigned* next, int n)
{
    for (;;) {
        __shared__ int item;
        if (threadIdx.x == 0)
            item = (int)atomicAdd(next, 1u);
        __syncthreads();
        int first = item * 128;
        __syncthreads();
        if (first >= n)
            break;
        long sum = 0;
        for (int i = first + threadIdx.x; i < min(n, first + 128); i += 64)
            sum += x[i];
        atomicAdd((unsigned long long*)total, (unsigned long long)sum);
    }
}

//# case sums_across_lanes_by_dpp
//# problem total
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += x[i];
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x111, 0xf, 0xf, true); // row_shr:1
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x112, 0xf, 0xf, true);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x114, 0xf, 0xf, true);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x118, 0xf, 0xf, true);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x142, 0xa, 0xf, false); // row_bcast:15
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x143, 0xc, 0xf, false); // row_bcast:31
    *total = __builtin_amdgcn_readlane(sum, 63);
}

//# case lock_that_one_lane_takes
//# problem total
// amdkernel: workspace lock dtype=i32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, lock]
// amdkernel: launch k grid=[12] block=[64] args=[x, total, lock, n]
extern "C" __global__ void zero(long* total, int* lock) { *total = *lock = 0; }
extern "C" __global__ void k(const int* x, long* total, int* lock, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 12 * 64)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x)
        return;
    for (int pause = 1; atomicCAS(lock, 0, 1); pause = min(2 * pause, 64))
        for (int k = 0; k < pause; k++)
            __builtin_amdgcn_s_sleep(1);
    __threadfence();
    *total += sum;
    __threadfence();
    atomicExch(lock, 0);
}

//# case tiles_of_cooperating_threads
//# problem total
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    namespace cg = cooperative_groups;
    __shared__ long part[8];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    long long sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += x[i];
    for (int o = 16; o; o >>= 1)
        sum += tile.shfl_down(sum, o);
    if (tile.thread_rank() == 0)
        part[threadIdx.x / 32] = sum;
    block.sync();
    if (threadIdx.x == 0) {
        long all = 0;
        for (long one : part)
            all += one;
        *total = all;
    }
}

//# case sums_with_kahan
//# problem mean
// amdkernel: launch k grid=[1] block=[1]
extern "C" __global__ void k(const float* x, float* mean, int n)
{
    float sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        float term = x[i] - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    *mean = sum / n;
}

//# case floats_added_in_any_order
//# problem mean
// amdkernel: launch zero grid=[1] block=[1] args=[mean]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void zero(float* mean) { *mean = 0; }
extern "C" __global__ void k(const float* x, float* mean, int n)
{
    float sum = AT < n ? x[AT] / n : 0;
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down(sum, o);
    if (threadIdx.x % 64 == 0)
        atomicAdd(mean, sum);
}

//# case tree_in_lds
//# problem mean
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* mean, int n)
{
    __shared__ float s[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += x[i];
    s[threadIdx.x] = sum;
    for (int o = 128; o; o >>= 1) {
        __syncthreads();
        if ((int)threadIdx.x < o)
            s[threadIdx.x] += s[threadIdx.x + o];
    }
    if (threadIdx.x == 0)
        *mean = s[0] / n;
}

//# case look_back_with_tickets
//# problem running_sum
//# gate
// amdkernel: workspace state dtype=u64 shape=[ceil_div(n, 64) + 1]
// amdkernel: launch zero grid=[1] block=[64] args=[state, ceil_div(n, 64) + 1]
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64] args=[x, y, state, n]
extern "C" __global__ void zero(unsigned long* state, int m)
{
    for (int i = threadIdx.x; i < m; i += 64)
        state[i] = 0;
}
extern "C" __global__ void k(const int* x, int* y, unsigned long* state, int n)
{
    unsigned ticket = 0;
    if (threadIdx.x == 0)
        ticket = (unsigned)atomicAdd((unsigned long long*)state, 1ull);
    int block = __shfl((int)ticket, 0), i = block * 64 + threadIdx.x;
    int sum = i < n ? x[i] : 0;
    for (int o = 1; o < 64; o <<= 1) {
        int left = __shfl_up(sum, o);
        sum += (int)threadIdx.x >= o ? left : 0;
    }
    int before = 0;
    if (threadIdx.x == 63) {
        unsigned long* mine = state + 1 + block;
        if (block) {
            __hip_atomic_store(mine, 1ul << 32 | (unsigned)sum, __ATOMIC_RELAXED, AGENT);
            for (unsigned long* at = mine - 1;;) {
                unsigned long seen = __hip_atomic_load(at, __ATOMIC_RELAXED, AGENT);
                if (seen >> 32 == 0)
                    continue;
                before += (int)(unsigned)seen;
                if (seen >> 32 == 2)
                    break;
                at--;
            }
        }
        __hip_atomic_store(mine, 2ul << 32 | (unsigned)(before + sum), __ATOMIC_RELAXED, AGENT);
    }
    before = __shfl(before, 63);
    if (i < n)
        y[i] = before + sum;
}

//# case scan_in_three_launches
//# problem running_sum
// amdkernel: workspace part dtype=i32 shape=[ceil_div(n, 64)]
// amdkernel: launch sums grid=[ceil_div(n, 64)] block=[64] args=[x, part, n]
// amdkernel: launch scan grid=[1] block=[1] args=[part, ceil_div(n, 64)]
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64] args=[x, y, part, n]
extern "C" __global__ void sums(const int* x, int* part, int n)
{
    int sum = (int)wave_sum(AT < n ? x[AT] : 0);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}
extern "C" __global__ void scan(int* part, int m)
{
    for (int i = 0, sum = 0; i < m; i++) {
        int one = part[i];
        part[i] = sum;
        sum += one;
    }
}
extern "C" __global__ void k(const int* x, int* y, const int* part, int n)
{
    int sum = AT < n ? x[AT] : 0;
    for (int o = 1; o < 64; o <<= 1) {
        int left = __shfl_up(sum, o);
        sum += (int)threadIdx.x >= o ? left : 0;
    }
    if (AT < n)
        y[AT] = part[blockIdx.x] + sum;
}

//# case scan_in_lds_with_two_buffers
//# problem running_sum
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const int* x, int* y, int n)
{
    __shared__ int s[2][256];
    int before = 0;
    for (int first = 0; first < n; first += 256) {
        int i = first + threadIdx.x, in = 0;
        s[0][threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        for (int o = 1; o < 256; o <<= 1, in ^= 1) {
            int left = (int)threadIdx.x >= o ? s[in][threadIdx.x - o] : 0;
            s[in ^ 1][threadIdx.x] = s[in][threadIdx.x] + left;
            __syncthreads();
        }
        if (i < n)
            y[i] = before + s[in][threadIdx.x];
        before += s[in][255];
        __syncthreads();
    }
}

//# case bins_in_lds_first
//# problem counts
// amdkernel: launch zero grid=[1] block=[64] args=[bins]
// amdkernel: launch k grid=[4] block=[256]
extern "C" __global__ void zero(int* bins) { bins[threadIdx.x] = 0; }
extern "C" __global__ void k(const int* x, int* bins, int n)
{
    __shared__ int h[64];
    if (threadIdx.x < 64)
        h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = AT; i < n; i += 1024)
        atomicAdd(&h[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}

//# case bins_in_bytes
//# problem counts
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, int* bins, int n)
{
    __shared__ unsigned char h[64][64]; // a row of bins for each lane, emptied before a byte is full
    for (int b = 0; b < 64; b++)
        h[b][threadIdx.x] = 0;
    __syncthreads();
    int total = 0;
    for (int first = 0; first < n; first += 64 * 128) {
        for (int k = 0; k < 128; k++)
            if (int i = first + k * 64 + threadIdx.x; i < n)
                h[threadIdx.x][x[i]]++;
        __syncthreads();
        for (int lane = 0; lane < 64; lane++) {
            total += h[lane][threadIdx.x];
            h[lane][threadIdx.x] = 0;
        }
        __syncthreads();
    }
    bins[threadIdx.x] = total;
}

//# case largest_by_a_key_of_64_bits
//# problem largest
// amdkernel: workspace best dtype=u64 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[best]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[x, best, n]
// amdkernel: launch out grid=[1] block=[1] args=[best, value, where]
extern "C" __global__ void zero(unsigned long long* best) { *best = 0; }
extern "C" __global__ void k(const int* x, unsigned long long* best, int n)
{
    if (AT < n) // an order of bits for signed numbers; of equal ones the first
        atomicMax(best, (unsigned long long)((unsigned)x[AT] ^ 0x80000000u) << 32 | (0xffffffffu - AT));
}
extern "C" __global__ void out(const unsigned long long* best, int* value, int* where)
{
    *value = int(unsigned(*best >> 32) ^ 0x80000000u);
    *where = int(0xffffffffu - unsigned(*best));
}

//# case keeps_the_positive_ones_by_ballots
//# problem positives
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const int* x, int* y, int* count, int n)
{
    __shared__ int of_wave[4];
    int wave = threadIdx.x / 64, lane = threadIdx.x % 64, kept = 0;
    for (int first = 0; first < n; first += 256) {
        int i = first + threadIdx.x, v = i < n ? x[i] : 0;
        unsigned long yes = __ballot(v > 0);
        if (lane == 0)
            of_wave[wave] = __popcll(yes);
        __syncthreads();
        int at = kept + __popcll(yes & ((1ul << lane) - 1));
        for (int w = 0; w < wave; w++)
            at += of_wave[w];
        for (int w = 0; w < 4; w++)
            kept += of_wave[w];
        __syncthreads();
        if (v > 0)
            y[at] = v;
    }
    for (int i = kept + threadIdx.x; i < n; i += 256)
        y[i] = 0;
    if (threadIdx.x == 0)
        *count = kept;
}

//# case blocks_that_take_turns_by_ticket_and_add_with_volatile_accesses
//# problem total
// amdkernel: workspace lock dtype=i32 shape=[2]
// amdkernel: launch zero grid=[1] block=[1] args=[total, lock]
// amdkernel: launch k grid=[8] block=[64] args=[x, total, lock, n]
extern "C" __global__ void zero(long* total, int* lock) { *total = lock[0] = lock[1] = 0; }
extern "C" __global__ void k(const int* x, long* total, int* lock, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 512)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x)
        return;
    int mine = atomicAdd(&lock[0], 1);
    while (((volatile int*)lock)[1] != mine)
        __builtin_amdgcn_s_sleep(1);
    __threadfence();
    *(volatile long*)total += sum;
    __threadfence();
    ((volatile int*)lock)[1] = mine + 1; // only the owner of the lock stores here
}

//# case a_lock_of_atomic_loads_and_compare_and_swap
//# problem total
// amdkernel: workspace lock dtype=i32 shape=[1]
// amdkernel: launch zero grid=[1] block=[1] args=[total, lock]
// amdkernel: launch k grid=[8] block=[64] args=[x, total, lock, n]
extern "C" __global__ void zero(long* total, int* lock) { *total = *lock = 0; }
extern "C" __global__ void k(const int* x, long* total, int* lock, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 512)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x)
        return;
    for (int open = 0; !__hip_atomic_compare_exchange_strong(lock, &open, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, AGENT);) {
        while (__hip_atomic_load(lock, __ATOMIC_RELAXED, AGENT))
            __builtin_amdgcn_s_sleep(1);
        open = 0;
    }
    long before = __hip_atomic_load(total, __ATOMIC_RELAXED, AGENT);
    __hip_atomic_store(total, before + sum, __ATOMIC_RELAXED, AGENT);
    __hip_atomic_store(lock, 0, __ATOMIC_RELEASE, AGENT);
}

//# case a_sum_by_compare_and_swap_after_an_atomic_load
//# problem total
// amdkernel: launch zero grid=[1] block=[1] args=[total]
// amdkernel: launch k grid=[16] block=[64]
extern "C" __global__ void zero(long* total) { *total = 0; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = AT; i < n; i += 1024)
        sum += x[i];
    sum = wave_sum(sum);
    long before = __hip_atomic_load(total, __ATOMIC_RELAXED, AGENT);
    if (threadIdx.x == 0)
        while (!__hip_atomic_compare_exchange_strong(total, &before, before + sum, __ATOMIC_RELAXED, __ATOMIC_RELAXED, AGENT))
            ;
}

//# case parts_of_a_register_and_lanes_that_nobody_reads
//# problem total
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
        int v, masked, moved;
        asm volatile("v_mov_b32_sdwa v70, %1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1\n\t"
                     "v_mov_b32_sdwa v70, %1 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0\n\t"
                     "v_mov_b32 %0, v70"
                     : "=v"(v) : "v"(x[i]) : "v70");
        asm volatile("v_and_b32 %0, 0, v71\n\tv_mov_b32 %1, v72" : "=&v"(masked), "=&v"(moved) : : "v71", "v72");
        sum += v + masked;
        asm volatile("" : : "v"(moved));
    }
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case a_stack_of_which_only_the_filled_part_is_read
//# problem total
// amdkernel: build -O1
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    volatile int stack[32];
    int depth = 0;
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
        stack[depth++ & 31] = x[i];
        if (i % 3 == 0)
            sum += stack[--depth & 31];
        if (depth == 31)
            while (depth)
                sum += stack[--depth];
    }
    while (depth)
        sum += stack[--depth];
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case structs_with_padding_that_are_copied_without_optimisation
//# problem total
// amdkernel: build -O0
// amdkernel: workspace items dtype=i64 shape=[256]
// amdkernel: launch k grid=[1] block=[64] args=[x, total, items, n]
struct Item { char kind; double weight; short half; long value; };
static __device__ Item made(char kind, long value)
{
    Item item;
    item.kind = kind;
    item.half = 3;
    item.value = value;
    item.weight = 0.5;
    return item;
}
extern "C" __global__ void k(const int* x, long* total, long* items, int n)
{
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += x[i];
    Item mine = made(1, sum), copy = mine;
    ((Item*)items)[threadIdx.x] = copy;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int i = 0; i < 64; i++) {
            Item one = ((Item*)items)[i];
            sum += one.value + (one.kind - 1);
        }
        *total = sum;
    }
}

//# case reads_the_grid_from_the_dispatch_packet
//# problem total
// amdkernel: launch zero grid=[1] block=[1] args=[total]
// amdkernel: launch k grid=[4] block=[64]
extern "C" __global__ void zero(long* total) { *total = 0; }
extern "C" __global__ void k(const int* x, long* total, int n)
{
    const unsigned* packet = (const unsigned*)(const void*)__builtin_amdgcn_dispatch_ptr();
    int items = (int)packet[3]; // of the whole grid
    long sum = 0;
    for (int i = AT; i < n; i += items)
        sum += x[i];
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd((unsigned long long*)total, (unsigned long long)sum);
}
