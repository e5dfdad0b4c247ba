// Right kernels that look like races.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#define KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(256) name(const int* x, int* y, int* w, int* c, int n)
#define ITEM (blockIdx.x * 256 + threadIdx.x)

// Assembly that waits by hand: one name for each architecture's instruction.
#if defined(__GFX9__)
#define LOAD "global_load_dword"
#define S_LOAD "s_load_dword"
#define LDS_LOAD "ds_read_b32"
#define LDS_STORE "ds_write_b32"
#else
#define LOAD "global_load_b32"
#define S_LOAD "s_load_b32"
#define LDS_LOAD "ds_load_b32"
#define LDS_STORE "ds_store_b32"
#endif
#if defined(__GFX12__)
#define AWAIT_LOADS "s_wait_loadcnt 0x0"
#define AWAIT_ALL_BUT_ONE_LOAD "s_wait_loadcnt 0x1"
#define AWAIT_LDS "s_wait_dscnt 0x0"
#define AWAIT_ALL_BUT_ONE_OF_LDS "s_wait_dscnt 0x1"
#define AWAIT_SCALARS "s_wait_kmcnt 0x0"
#define BARRIER "s_barrier_signal -1\n s_barrier_wait -1"
#else
#define AWAIT_LOADS "s_waitcnt vmcnt(0)"
#define AWAIT_ALL_BUT_ONE_LOAD "s_waitcnt vmcnt(1)"
#define AWAIT_LDS "s_waitcnt lgkmcnt(0)"
#define AWAIT_ALL_BUT_ONE_OF_LDS "s_waitcnt lgkmcnt(1)"
#define AWAIT_SCALARS "s_waitcnt lgkmcnt(0)"
#define BARRIER "s_barrier"
#endif
#define IN_LDS(pointer) ((int)(size_t)(__attribute__((address_space(3))) int*)(pointer))

static __device__ int block_sum(int v, int* part)
{
    for (int o = 32; o; o >>= 1)
        v += __shfl_down(v, o);
    if ((threadIdx.x & 63) == 0)
        part[threadIdx.x >> 6] = v;
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 4; k++)
        sum += part[k];
    __syncthreads();
    return sum;
}

KERNEL(barrier_between)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    y[ITEM] = s[255 - threadIdx.x];
}

KERNEL(block_reduction)
{
    __shared__ int part[4];
    int sum = block_sum(x[ITEM], part);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

KERNEL(tree_reduction_that_ends_within_a_wave)
{
    __shared__ int s[256];
    unsigned t = threadIdx.x;
    s[t] = x[ITEM];
    __syncthreads();
    for (unsigned k = 128; k >= 64; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t < 32) {
        volatile int* v = s;
        for (int k = 32; k; k /= 2)
            v[t] += v[t + k];
    }
    if (t == 0)
        y[blockIdx.x] = s[0];
}

KERNEL(scan_with_two_barriers)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    for (unsigned k = 1; k < 256; k *= 2) {
        int left = threadIdx.x >= k ? s[threadIdx.x - k] : 0;
        __syncthreads();
        s[threadIdx.x] += left;
        __syncthreads();
    }
    y[ITEM] = s[threadIdx.x];
}

KERNEL(double_buffer)
{
    __shared__ int s[2][256];
    int sum = 0;
    s[0][threadIdx.x] = x[ITEM];
    __syncthreads();
    for (int k = 0; k < 6; k++) {
        s[~k & 1][threadIdx.x] = x[(ITEM + 256 * k) % n];
        sum += s[k & 1][255 - threadIdx.x];
        __syncthreads();
    }
    y[ITEM] = sum;
}

KERNEL(histogram_in_lds)
{
    __shared__ int h[64];
    if (threadIdx.x < 64)
        h[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&h[x[ITEM] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&c[threadIdx.x], h[threadIdx.x]);
}

KERNEL(histogram_in_global_memory) { atomicAdd(&c[x[ITEM] & 63], 1); }

KERNEL(last_block_sums)
{
    __shared__ int part[4];
    __shared__ bool last;
    int sum = block_sum(x[ITEM], part);
    if (threadIdx.x == 0) {
        w[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc((unsigned*)c, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int all = block_sum(threadIdx.x < gridDim.x ? w[threadIdx.x] : 0, part);
        if (threadIdx.x == 0) {
            y[0] = all;
            c[0] = 0;
        }
    }
}

KERNEL(ticket_lock)
{
    if (threadIdx.x == 0) {
        int ticket = atomicAdd(&c[0], 1);
        while (__hip_atomic_load(&c[1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != ticket)
            __builtin_amdgcn_s_sleep(1);
        c[2] += x[ITEM];
        __hip_atomic_store(&c[1], ticket + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

KERNEL(spin_lock_with_fences)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&c[0], 0, 1) != 0)
            ;
        __threadfence();
        c[1] += x[ITEM];
        __threadfence();
        atomicExch(&c[0], 0);
    }
}

KERNEL(decoupled_look_back)
{
    __shared__ int part[4];
    __shared__ int before;
    int sum = block_sum(x[ITEM], part);
    if (threadIdx.x == 0) {
        w[blockIdx.x] = sum;
        __threadfence();
        __hip_atomic_store(&c[blockIdx.x], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        int left = 0;
        for (int b = (int)blockIdx.x - 1; b >= 0; b--) {
            while (__hip_atomic_load(&c[b], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0)
                ;
            __threadfence();
            left += w[b];
        }
        before = left;
    }
    __syncthreads();
    y[ITEM] = before + x[ITEM];
}

KERNEL(look_back_with_value_and_flag_in_one_word)
{
    __shared__ int part[4];
    unsigned long long* state = (unsigned long long*)c;
    int sum = block_sum(x[ITEM] & 1023, part);
    if (threadIdx.x == 0) {
        unsigned long long left = 0;
        if (blockIdx.x) {
            while (!((left = __hip_atomic_load(&state[blockIdx.x - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) >> 63))
                ;
        }
        unsigned long long mine = (left & ~(1ull << 63)) + sum;
        __hip_atomic_store(&state[blockIdx.x], mine | 1ull << 63, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        y[blockIdx.x] = (int)mine;
    }
}

KERNEL(volatile_flag_with_fences)
{
    volatile int* flag = c;
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            flag[0] = 1;
    } else {
        if (threadIdx.x == 0)
            while (flag[0] == 0)
                ;
        __syncthreads();
        __threadfence();
        y[ITEM] = w[threadIdx.x];
    }
}

KERNEL(producers_and_consumers)
{
    if (blockIdx.x % 2 == 0) {
        w[ITEM] = x[ITEM];
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_fetch_add(&c[blockIdx.x], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        if (threadIdx.x == 0)
            while (__hip_atomic_load(&c[blockIdx.x - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0)
                ;
        __syncthreads();
        y[ITEM] = w[ITEM - 256];
    }
}

KERNEL(barrier_of_the_grid)
{
    w[ITEM] = x[ITEM];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&c[0], 1);
        while (__hip_atomic_load(&c[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < (int)gridDim.x)
            __builtin_amdgcn_s_sleep(1);
        __threadfence();
    }
    __syncthreads();
    y[ITEM] = w[(ITEM + 256) % n];
}

KERNEL(flag_in_lds)
{
    __shared__ int s[64];
    __shared__ int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    int wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    if (wave == 0) {
        s[lane] = x[ITEM];
        __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else if (wave == 1) {
        while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0)
            ;
        y[ITEM] = s[lane];
    }
}

KERNEL(volatile_flag_in_lds)
{
    __shared__ int s[64];
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    int wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    if (wave == 0) {
        s[lane] = x[ITEM];
        __threadfence_block();
        if (lane == 0)
            flag = 1;
    } else if (wave == 1) {
        while (flag == 0)
            ;
        __threadfence_block();
        y[ITEM] = s[lane];
    }
}

KERNEL(counter_in_lds)
{
    __shared__ int s[256];
    __shared__ int done;
    if (threadIdx.x == 0)
        done = 0;
    __syncthreads();
    s[threadIdx.x] = x[ITEM];
    __threadfence_block();
    if (threadIdx.x % warpSize == 0)
        atomicAdd(&done, 1);
    while (atomicAdd(&done, 0) < 256 / warpSize)
        ;
    __threadfence_block();
    y[ITEM] = s[255 - threadIdx.x];
}

KERNEL(fences_beside_barriers)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        if (threadIdx.x == 0)
            while (!__hip_atomic_load(&c[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
                __builtin_amdgcn_s_sleep(1);
        __syncthreads();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        y[ITEM] = w[threadIdx.x];
    }
}

KERNEL(ticket_that_is_stored)
{
    if (threadIdx.x == 0) {
        int mine = atomicAdd(&c[0], 1);
        while (__hip_atomic_load(&c[1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != mine)
            ;
        c[2] += x[ITEM];
        __hip_atomic_store(&c[1], mine + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

KERNEL(volatile_sums_within_a_wave)
{
    __shared__ volatile int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    if (threadIdx.x < warpSize)
        for (int o = warpSize / 2; o; o >>= 1)
            if (threadIdx.x < o)
                s[threadIdx.x] += s[threadIdx.x + o];
    if (threadIdx.x == 0)
        y[blockIdx.x] = s[0];
}

KERNEL(compare_and_swap_after_a_plain_read)
{
    int old = c[0], seen;
    do {
        seen = old;
        old = atomicCAS(&c[0], seen, seen + x[ITEM]);
    } while (old != seen);
}

KERNEL(maximum_with_a_look_first)
{
    if (x[ITEM] > c[0])
        atomicMax(&c[0], x[ITEM]);
}

KERNEL(all_write_the_same)
{
    y[0] = 5;
    if (x[ITEM] >= 0)
        c[0] = 1;
}

KERNEL(exchange_within_one_wave)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __builtin_amdgcn_wave_barrier();
    y[ITEM] = s[threadIdx.x ^ 17];
}

KERNEL(halves_and_bytes_side_by_side)
{
    short* half = (short*)w;
    half[2 * (ITEM % 512) + ITEM / 512] = (short)x[ITEM];
}

KERNEL(vector_with_a_spare_element)
{
    __shared__ int4 s[256];
    s[threadIdx.x].x = x[ITEM];
    s[threadIdx.x].y = 1;
    __syncthreads();
    int4 v = s[255 - threadIdx.x];
    y[ITEM] = v.x + v.y;
}

KERNEL(load_that_only_some_lanes_need)
{
    __shared__ int s[8];
    if (threadIdx.x < 4)
        s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    int v = s[threadIdx.x & 7];
    y[ITEM] = (threadIdx.x & 7) < 4 ? v : 0;
}

struct Padded { char small; int large; };

KERNEL(structures_with_padding)
{
    __shared__ Padded s[256];
    s[threadIdx.x].small = (char)x[ITEM];
    s[threadIdx.x].large = x[ITEM];
    __syncthreads();
    Padded p = s[255 - threadIdx.x];
    __syncthreads();
    s[threadIdx.x] = p;
    __syncthreads();
    y[ITEM] = s[threadIdx.x].large + s[threadIdx.x].small;
}

KERNEL(three_arguments_in_a_row) { y[ITEM] = x[ITEM] + c[1] + n; }

KERNEL(work_queue)
{
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0)
            item = atomicAdd(&c[0], 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        if (mine * 256 >= n)
            break;
        y[mine * 256 + threadIdx.x] = x[mine * 256 + threadIdx.x];
    }
}

KERNEL(groups_of_cooperating_threads)
{
    namespace cg = cooperative_groups;
    __shared__ int s[256];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    s[threadIdx.x] = x[ITEM];
    tile.sync();
    int v = s[threadIdx.x ^ 5];
    for (int o = 8; o; o >>= 1)
        v += tile.shfl_down(v, o);
    block.sync();
    y[ITEM] = v + s[255 - threadIdx.x];
}

// As compilers do it: loaded before the branch that asks, which only 64 items take; the others load from beyond LDS.
KERNEL(lds_load_ahead_of_its_guard)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    int early;
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) int*)s + 16 * threadIdx.x;
    asm volatile("ds_read_b32 %0, %1\n\ts_waitcnt lgkmcnt(0)" : "=v"(early) : "v"(at) : "memory");
    y[ITEM] = threadIdx.x < 64 ? early : 0;
}

KERNEL(blocks_of_the_heap_that_pass_from_wave_to_wave)
{
    int* own = (int*)malloc(16 * sizeof(int));
    for (int k = 0; k < 16; k++)
        own[k] = x[(ITEM + k) % n];
    int sum = 0;
    for (int k = 0; k < 16; k++)
        sum += own[k];
    free(own);
    y[ITEM] = sum;
}

#define COUNT(place) __hip_atomic_fetch_add(&place, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP)
#define AWAIT(place, count) \
    while (__hip_atomic_load(&place, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) < (unsigned)(count)) \
        __builtin_amdgcn_s_sleep(1)

// Compilers look at a flag once before the loop that waits for it.
KERNEL(ring_between_waves_that_produce_and_consume)
{
    __shared__ int ring[2][128];
    __shared__ unsigned full[2], empty[2];
    int t = threadIdx.x & 127;
    if (threadIdx.x < 2)
        full[threadIdx.x] = empty[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        int slot = k & 1;
        if (threadIdx.x < 128) {
            AWAIT(empty[slot], k / 2 * 128);
            ring[slot][t] = x[(ITEM + k) % n];
            COUNT(full[slot]);
        } else {
            AWAIT(full[slot], (k / 2 + 1) * 128);
            w[ITEM] = ring[slot][t ^ 64];
            COUNT(empty[slot]);
        }
    }
}

// One wave hears of another workgroup and passes that on to the others of its own, for which a smaller scope will do.
#ifdef __gfx90a__ // where loads of that scope look like any other
#define NEAR __HIP_MEMORY_SCOPE_AGENT
#else
#define NEAR __HIP_MEMORY_SCOPE_WORKGROUP
#endif
KERNEL(flag_that_one_wave_passes_on_to_its_workgroup)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        return;
    }
    if (threadIdx.x < 64) {
        while (!__hip_atomic_load(&c[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
            ;
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[blockIdx.x], 1, __ATOMIC_RELEASE, NEAR);
    } else {
        while (!__hip_atomic_load(&c[blockIdx.x], __ATOMIC_ACQUIRE, NEAR))
            ;
    }
    y[ITEM] = w[255 - threadIdx.x];
}

// The same by atomics that change the flag; each of them releases.
KERNEL(counter_that_one_wave_passes_on_to_its_workgroup)
{
    int *all = &c[0], *own = &c[blockIdx.x];
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_fetch_add(all, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        return;
    }
    if (threadIdx.x < 64) {
        while (!__hip_atomic_load(all, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
            ;
        __hip_atomic_fetch_add(own, 1 << 24, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else { // polls are counted below
        while (!(__hip_atomic_fetch_add(own, n & 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) >> 24))
            ;
    }
    y[ITEM] = w[255 - threadIdx.x];
}

// Many poll with no order, and acquire once.
KERNEL(flag_polled_relaxed_and_acquired_by_a_fence)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        return;
    }
    while (!__hip_atomic_load(&c[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    __threadfence();
    y[ITEM] = w[255 - threadIdx.x];
}

// The barrier hands on what one wave acquired; its own fence is one of the workgroup's.
KERNEL(flag_polled_by_one_wave_before_a_barrier)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        return;
    }
    if (threadIdx.x == 0)
        while (!__hip_atomic_load(&c[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
            ;
    __syncthreads();
    y[ITEM] = w[255 - threadIdx.x];
}

// Each wave looks back for itself, and all publish in the same place: for a while what they store differs.
KERNEL(look_back_of_which_every_wave_tells)
{
    if (threadIdx.x % __builtin_amdgcn_wavefrontsize() == 0) {
        int left = 0;
        __hip_atomic_store(&c[blockIdx.x], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        while (blockIdx.x && !(left & 2))
            left = __hip_atomic_load(&c[blockIdx.x - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        int sum = (left >> 2) + (int)blockIdx.x;
        __hip_atomic_store(&c[blockIdx.x], sum << 2 | 2, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
    y[ITEM] = x[ITEM];
}

// Block-wide scans are made like this: a few lanes take several items each, also where none are left. Their
// results go up to lanes whose values are not used.
template <typename T> static __device__ T from_below(T v, int lanes) { return (T)__shfl_up(v, lanes, 32); }
static __device__ _Float16 from_below(_Float16 v, int lanes) { return (_Float16)__shfl_up((float)v, lanes, 32); }

template <typename T> static __device__ int scanned(T* s, int mine, T (*combine)(T, T))
{
    unsigned t = threadIdx.x;
    if (t < 129)
        s[t] = (T)mine;
    __syncthreads();
    if (t < 32) {
        T sum = s[6 * t];
        for (int k = 1; k < 6; k++)
            sum = combine(sum, s[6 * t + k]);
        for (int o = 1; o < 32; o *= 2) {
            T up = from_below(sum, o);
            sum = combine(sum, t >= o ? up : (T)0);
        }
        T before = from_below(sum, 1);
        s[6 * t] = combine(s[6 * t], t ? before : (T)0);
        for (int k = 1; k < 6; k++)
            s[6 * t + k] = combine(s[6 * t + k], s[6 * t + k - 1]);
    }
    __syncthreads();
    return t < 129 ? (int)s[t] : 0;
}
template <typename T> static __device__ T sum_of(T a, T b) { return a + b; }
template <typename T> static __device__ T larger_of(T a, T b) { return (T)((a > b) * a + (a <= b) * b); }

KERNEL(scan_beyond_its_last_item)
{
    __shared__ int s[192];
    y[ITEM] = scanned(s, x[ITEM], sum_of);
}

KERNEL(scan_of_wide_items_beyond_the_last)
{
    __shared__ long long s[192];
    y[ITEM] = scanned(s, x[ITEM], larger_of);
}

KERNEL(scan_of_narrow_items_beyond_the_last)
{
    __shared__ unsigned short s[192];
    y[ITEM] = scanned(s, x[ITEM], sum_of);
}

KERNEL(scan_of_halves_beyond_the_last)
{
    __shared__ _Float16 s[192];
    y[ITEM] = scanned(s, x[ITEM] & 1, sum_of);
}

KERNEL(scan_of_bytes_beyond_the_last)
{
    __shared__ unsigned char s[192];
    y[ITEM] = scanned(s, x[ITEM] & 1, sum_of);
}

KERNEL(scan_for_the_largest_byte_beyond_the_last)
{
    __shared__ signed char s[192];
    y[ITEM] = scanned(s, x[ITEM] & 1, larger_of);
}

KERNEL(scan_for_the_largest_narrow_item_beyond_the_last)
{
    __shared__ unsigned short s[192];
    y[ITEM] = scanned(s, x[ITEM], larger_of);
}

// One load brings four bytes; the last of them may lie in no buffer.
KERNEL(bytes_that_are_loaded_with_others)
{
    __shared__ unsigned char s[256];
    unsigned t = threadIdx.x, items = 253, first = 4 * t;
    if (t < items)
        s[t] = (unsigned char)x[ITEM];
    __syncthreads();
    if (t < 64) {
        unsigned char a = s[first], b = s[first + 1], c = s[first + 2], d = s[first + 3];
        b = b + a;
        c = c + b;
        d = d + c;
        unsigned char* out = (unsigned char*)(y + blockIdx.x * 256);
        if (first < items)
            out[first] = a;
        if (first + 1 < items)
            out[first + 1] = b;
        if (first + 2 < items)
            out[first + 2] = c;
        if (first + 3 < items)
            out[first + 3] = d;
    }
}

// Padding, and members that are never set, are copied with their struct.
struct Gapped {
    char c;
    double d;
};
struct alignas(16) Point {
    float x, y, z;
};

KERNEL(structs_copied_with_their_padding)
{
    Gapped *from = (Gapped*)w + blockIdx.x * 64, *to = (Gapped*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        from[t].c = (char)x[ITEM];
        from[t].d = x[ITEM];
    }
    __syncthreads();
    if (t < 64)
        to[t] = from[63 - t];
}

KERNEL(points_copied_with_the_room_behind_them)
{
    Point *from = (Point*)w + blockIdx.x * 64, *to = (Point*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        from[t].x = x[ITEM];
        from[t].y = 1;
        from[t].z = 2;
    }
    __syncthreads();
    if (t < 64)
        to[t] = from[63 - t];
}

// Members that only some of the structs use, as in a tagged union.
struct Tagged {
    int tag, value;
};
struct Record {
    int id, count;
    float price, discount;
};

KERNEL(structs_of_which_some_have_a_member_set)
{
    Tagged *from = (Tagged*)w + blockIdx.x * 64, *to = (Tagged*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        from[t].tag = t % 3;
        if (t % 3)
            from[t].value = x[ITEM];
    }
    __syncthreads();
    if (t < 64)
        to[t] = from[63 - t];
}

KERNEL(records_of_which_some_have_a_member_set)
{
    Record *from = (Record*)w + blockIdx.x * 64, *to = (Record*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        from[t].id = t;
        from[t].count = x[ITEM];
        if (from[t].count & 1)
            from[t].discount = 0.5f;
        from[t].price = 9;
    }
    __syncthreads();
    if (t < 64)
        to[t] = from[63 - t];
}

KERNEL(records_of_lds_of_which_some_have_a_member_set)
{
    __shared__ Tagged s[64];
    __shared__ Record r[64];
    Tagged* tagged = (Tagged*)w + blockIdx.x * 64;
    Record* records = (Record*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        s[t].tag = t % 3;
        if (t % 3)
            s[t].value = x[ITEM];
        r[t].id = t;
        r[t].price = x[ITEM];
        r[t].count = 2;
        if (t & 1)
            r[t].discount = 3;
    }
    __syncthreads();
    if (t < 64) {
        tagged[t] = s[63 - t];
        records[t] = r[63 - t];
    }
}

KERNEL(pixels_of_which_one_channel_is_not_in_use)
{
    uchar4 *from = (uchar4*)w, *to = (uchar4*)y;
    from[ITEM].x = (unsigned char)x[ITEM];
    from[ITEM].y = 1;
    from[ITEM].z = 2;
    __syncthreads();
    to[ITEM] = from[ITEM ^ 5];
}

// Where a member changes, the compiler copies the gaps next to it in pieces of their own.
struct Counted {
    int count;
    unsigned char kind;
};
struct Measured {
    short small;
    unsigned char kind;
    double large;
};

KERNEL(structs_copied_with_a_member_changed)
{
    Counted *from = (Counted*)w + blockIdx.x * 64, *to = (Counted*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        from[t].count = x[ITEM];
        from[t].kind = 3;
    }
    __syncthreads();
    if (t < 64) {
        Counted own = from[63 - t];
        own.kind = 4;
        to[t] = own;
    }
}

KERNEL(structs_changed_where_they_are)
{
    Measured* all = (Measured*)w + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        all[t].small = (short)x[ITEM];
        all[t].kind = 3;
        all[t].large = 0.5;
    }
    __syncthreads();
    if (t < 64) {
        Measured own = all[t];
        own.large += own.small;
        own.kind = (unsigned char)own.small;
        all[t] = own;
    }
}

KERNEL(halves_of_which_the_last_one_has_no_partner)
{
    typedef _Float16 two __attribute__((ext_vector_type(2)));
    int count = 255;
    if (threadIdx.x < count)
        ((_Float16*)w)[blockIdx.x * 256 + threadIdx.x] = (_Float16)(x[ITEM] & 7);
    __syncthreads();
    if (threadIdx.x < 128) {
        two pair = ((two*)w)[blockIdx.x * 128 + threadIdx.x];
        if (2 * threadIdx.x + 1 >= count)
            pair = two{pair.x, 0};
        two sum = pair * pair + pair;
        y[blockIdx.x * 128 + threadIdx.x] = (int)(float)sum.x + (int)(float)sum.y;
    }
}

KERNEL(nibbles_of_a_word_of_which_the_rest_is_unset)
{
    unsigned char* bytes = (unsigned char*)(w + blockIdx.x * 256);
    unsigned t = threadIdx.x;
    if (t < 126)
        bytes[t] = (unsigned char)x[ITEM];
    __syncthreads();
    unsigned word = ((unsigned*)bytes)[t / 8];
    int nibble = (int)(word >> 4 * (t & 7) & 15);
    bool odd = t < 252 && nibble & 1;
    if (t < 252)
        y[ITEM] = nibble + (word >> (t * 5 & 15) & 1) + __popcll(__ballot(odd));
}

// What some lanes know nothing of is kept in a mask across calls and branches.
__attribute__((noinline)) __device__ int far_away(int v) { return v * 3 + 1; }

KERNEL(conditions_that_matter_to_lanes_with_a_value)
{
    if (threadIdx.x % 64 < 60)
        w[ITEM] = x[ITEM];
    __syncthreads();
    bool small = w[ITEM] < 500, even = w[ITEM] % 2 == 0;
    int sum = far_away((int)threadIdx.x);
    if (threadIdx.x % 64 < 60) {
        for (int k = 0; k < 3; k++)
            sum += small && (k || !even) ? far_away(sum & 255) : k;
        y[ITEM] = small || even ? sum : 0;
    }
}

struct alignas(16) Colour {
    unsigned char r, g, b;
    float weight;
};

KERNEL(structs_that_end_in_more_padding_than_a_word)
{
    __shared__ Colour kept[64];
    Colour *from = (Colour*)w + blockIdx.x * 64, *to = (Colour*)y + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64) {
        from[t].r = (unsigned char)x[ITEM];
        from[t].g = 2;
        from[t].b = 3;
        from[t].weight = 0.5f;
    }
    __syncthreads();
    if (t < 64)
        kept[t] = from[t];
    __syncthreads();
    if (t < 32) {
        Colour own = kept[63 - t];
        own.g = own.r;
        to[t] = own;
    } else if (t < 64) {
        Colour own = from[63 - t];
        own.g = own.r;
        to[t] = own;
    }
}

// Who frees a slot has stored nothing, so that its release needs no wait for stores.
KERNEL(slots_that_another_workgroup_frees)
{
    int *head = &c[0], *tail = &c[1];
    unsigned t = threadIdx.x;
    if (blockIdx.x == 0)
        for (int k = 0; k < 12; k++) {
            if (t == 0)
                while (k - __hip_atomic_load(tail, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) >= 3)
                    __builtin_amdgcn_s_sleep(1);
            __syncthreads();
            w[k % 3 * 256 + t] = x[(k + t) % n];
            __syncthreads();
            if (t == 0)
                __hip_atomic_store(head, k + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        }
    if (blockIdx.x == 1) {
        int sum = 0;
        for (int k = 0; k < 12; k++) {
            if (t == 0)
                while (__hip_atomic_load(head, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == k)
                    __builtin_amdgcn_s_sleep(1);
            __syncthreads();
            sum += w[k % 3 * 256 + (255 - t)];
            __syncthreads();
            if (t == 0)
                __hip_atomic_store(tail, k + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        }
        y[ITEM] = sum;
    }
}

struct Flags {
    unsigned kind : 3, level : 7, rest : 22;
    unsigned char low : 4, high : 4;
};

KERNEL(bit_fields_set_one_by_one)
{
    Flags* all = (Flags*)w + blockIdx.x * 64;
    unsigned t = threadIdx.x;
    if (t < 64)
        all[t].kind = 5;
    __syncthreads();
    if (t < 64)
        all[t].low = (unsigned char)x[ITEM];
    __syncthreads();
    if (t < 64)
        all[63 - t].level = 1;
    __syncthreads();
    if (t < 64) {
        Flags own = all[63 - t];
        y[ITEM] = (int)(own.kind * 100 + own.level * (own.low & 3));
        ((Flags*)(w + 512))[t + 64 * blockIdx.x] = own;
    }
}

KERNEL(words_put_back_where_they_were)
{
    if (threadIdx.x % 3 == 0)
        w[ITEM] = x[ITEM];
    __syncthreads();
    int old = w[ITEM];
    w[ITEM] = threadIdx.x % 5 == 0 ? 7 : old;
    __syncthreads();
    if (threadIdx.x % 15 == 0)
        y[ITEM] = w[ITEM];
}

KERNEL(load_used_after_its_wait)
{
    const int* p = &x[ITEM];
    int v;
    asm volatile(LOAD " %0, %1, off\n" AWAIT_LOADS : "=v"(v) : "v"(p));
    y[ITEM] = v + 1;
}

KERNEL(first_of_two_loads_used_while_the_second_is_on_its_way)
{
    const int* p = &x[ITEM & ~1u];
    int a, b, sum;
    asm volatile(LOAD " %1, %3, off\n" LOAD " %2, %3, off offset:4\n" AWAIT_ALL_BUT_ONE_LOAD
                 "\n v_or_b32 %0, 1, %1\n" AWAIT_LOADS "\n v_xor_b32 %0, %0, %2"
                 : "=&v"(sum), "=&v"(a), "=&v"(b) : "v"(p));
    y[ITEM] = sum;
}

KERNEL(lds_comes_in_order_beside_a_scalar_load)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    int v, u;
    asm volatile("v_readfirstlane_b32 s40, %2\n v_readfirstlane_b32 s41, %3\n s_nop 4\n"
                 LDS_LOAD " %1, %4\n" LDS_LOAD " %0, %4\n" S_LOAD " s42, s[40:41], 0x0\n" AWAIT_ALL_BUT_ONE_OF_LDS
                 "\n v_or_b32 %1, 1, %1\n" AWAIT_SCALARS "\n" AWAIT_LDS "\n v_xor_b32 %0, s42, %0"
                 : "=&v"(v), "=&v"(u) : "v"((int)(size_t)x), "v"((int)((size_t)x >> 32)), "v"(IN_LDS(&s[threadIdx.x]))
                 : "s40", "s41", "s42");
    y[ITEM] = v + u;
}

KERNEL(loads_of_the_next_round_while_this_one_is_summed)
{
    int sum = 0, now, next = 0;
    const int *p = &x[threadIdx.x], *last = &x[n - 256 + threadIdx.x];
    asm volatile("s_mov_b32 s40, 0\n" LOAD " %0, %3, off\n"
                 "1:\n v_mov_b32 %1, 0\n"
                 LOAD " %1, %4, off\n" AWAIT_ALL_BUT_ONE_LOAD "\n v_xor_b32 %2, %2, %0\n"
                 "v_mov_b32 %0, 0\n" LOAD " %0, %3, off\n" AWAIT_ALL_BUT_ONE_LOAD "\n v_xor_b32 %2, %2, %1\n"
                 "s_add_i32 s40, s40, 1\n s_and_b32 s40, s40, 7\n s_cmp_lg_u32 s40, 0\n s_cbranch_scc1 1b\n"
                 AWAIT_LOADS
                 : "=&v"(now), "=&v"(next), "+v"(sum) : "v"(p), "v"(last) : "s40", "scc");
    y[ITEM] = sum;
}

KERNEL(a_later_load_takes_the_place_of_an_earlier_one)
{
    const int* p = &x[ITEM & ~1u];
    int v;
    asm volatile(LOAD " %0, %1, off\n" LOAD " %0, %1, off offset:4\n" AWAIT_LOADS : "=&v"(v) : "v"(p));
    y[ITEM] = v;
}

KERNEL(barrier_after_a_store_to_lds_has_landed)
{
    __shared__ int s[256];
    int v = x[ITEM];
    asm volatile(LDS_STORE " %0, %1\n" AWAIT_LDS "\n" BARRIER :: "v"(IN_LDS(&s[threadIdx.x])), "v"(v) : "memory");
    y[ITEM] = s[255 - threadIdx.x];
}

KERNEL(barrier_for_the_pace_and_one_for_the_data)
{
    __shared__ int s[256];
    int v = x[ITEM];
    asm volatile(LDS_STORE " %0, %1\n" BARRIER "\n" AWAIT_LDS "\n" BARRIER
                 :: "v"(IN_LDS(&s[threadIdx.x])), "v"(v) : "memory");
    y[ITEM] = s[255 - threadIdx.x];
}

KERNEL(own_store_to_lds_loaded_again_behind_a_barrier)
{
    __shared__ int s[256];
    int v = x[ITEM], again;
    asm volatile(LDS_STORE " %1, %2\n" BARRIER "\n" LDS_LOAD " %0, %1\n" AWAIT_LDS
                 : "=v"(again) : "v"(IN_LDS(&s[threadIdx.x])), "v"(v) : "memory");
    y[ITEM] = again;
}

KERNEL(one_path_loads_and_only_that_path_waits)
{
    const int* p = &x[ITEM];
    int v = 0;
    if (n & 1)
        asm volatile(LOAD " %0, %1, off" : "=v"(v) : "v"(p));
    w[ITEM] = n;
    if (n & 1)
        asm volatile(AWAIT_LOADS : "+v"(v));
    y[ITEM] = v;
}

KERNEL(unset_registers_whose_value_decides_nothing)
{
    int v, copy;
    asm volatile("v_and_b32 v70, 0, v70\n v_or_b32 %0, v70, %2\n v_mov_b32 %1, v71" // v71 was never set
                 : "=&v"(v), "=&v"(copy) : "v"(x[ITEM]) : "v70", "v71");
    asm volatile("" : : "v"(copy));
    y[ITEM] = v;
}

KERNEL(upper_halves_that_are_shifted_out)
{
    int v;
    asm volatile("v_lshlrev_b32 v72, 16, v72\n v_and_b32 %0, 0xffff, %1\n v_or_b32 v72, %0, v72\n v_and_b32 %0, 0xffff, v72"
                 : "=&v"(v) : "v"(x[ITEM]) : "v72");
    y[ITEM] = v;
}

KERNEL(lanes_of_a_register_that_were_written)
{
    int v;
    asm volatile("s_nop 0\n v_readfirstlane_b32 s40, %1\n s_nop 4\n v_writelane_b32 v73, s40, 5\n v_mov_b32 v74, v73\n s_nop 4\n v_readlane_b32 s40, v74, 5\n s_nop 4\n v_mov_b32 %0, s40"
                 : "=v"(v) : "v"(n) : "v73", "v74", "s40");
    y[ITEM] = x[ITEM] + v;
}

KERNEL(private_memory_saved_and_put_back_where_nothing_was_written)
{
    volatile int a[16], b[16];
    for (int k = 0; k < 8; k++)
        a[k] = x[(ITEM + k) % n];
    for (int k = 0; k < 16; k++)
        b[k] = a[k];
    y[ITEM] = b[threadIdx.x & 7];
}

struct Mixture { char kind; double weight; short half; long value; };

KERNEL(structs_with_padding_on_the_stack)
{
    Mixture mine[2];
    volatile int at = threadIdx.x & 1;
    mine[at].kind = 1;
    mine[at].weight = 2.0;
    mine[at].half = 3;
    mine[at].value = x[ITEM];
    Mixture copy = mine[at];
    y[ITEM] = (int)copy.value + copy.kind + copy.half;
}

#if defined(__gfx90a__)
#define MOVE_TO_LDS(address) "global_load_dword " address ", off lds"
#else
#define MOVE_TO_LDS(address) "global_load_lds_dword " address ", off"
#endif
#define OWN_PART(s) "s"(__builtin_amdgcn_readfirstlane(IN_LDS(&s[threadIdx.x & ~63u])))

KERNEL(load_into_lds_that_is_waited_for)
{
    y[ITEM] = x[ITEM];
#if defined(__GFX9__)
    __shared__ int s[256];
    const int* p = &x[ITEM];
    int v;
    asm volatile("s_mov_b32 m0, %3\n s_nop 0\n " MOVE_TO_LDS("%1") "\n s_waitcnt vmcnt(0)\n ds_read_b32 %0, %2\n s_waitcnt lgkmcnt(0)\n s_barrier"
                 : "=v"(v) : "v"(p), "v"(IN_LDS(&s[threadIdx.x])), OWN_PART(s) : "memory");
    y[ITEM] = v + ((volatile int*)s)[threadIdx.x ^ 64];
#endif
}

KERNEL(load_into_lds_of_the_next_part_while_this_one_is_read)
{
    y[ITEM] = x[ITEM];
#if defined(__GFX9__)
    __shared__ int s[256], t[256], u[256];
    const int *p = &x[ITEM], *q = &x[(ITEM + 64) % n];
    int v, here = IN_LDS(&u[threadIdx.x]);
    asm volatile("s_mov_b32 m0, %3\n s_nop 0\n " MOVE_TO_LDS("%1") "\n s_mov_b32 m0, %4\n s_nop 0\n " MOVE_TO_LDS("%2")
                 "\n ds_write_b32 %5, %6\n s_waitcnt vmcnt(1) lgkmcnt(0)\n ds_read_b32 %0, %7\n s_waitcnt lgkmcnt(0)\n s_barrier"
                 : "=&v"(v) : "v"(p), "v"(q), OWN_PART(s), OWN_PART(t), "v"(here), "v"(n), "v"(IN_LDS(&s[threadIdx.x])) : "memory");
    v += ((volatile int*)s)[threadIdx.x ^ 64] + ((volatile int*)u)[threadIdx.x ^ 64];
    asm volatile("s_waitcnt vmcnt(0)\n s_barrier" : : : "memory");
    y[ITEM] = v + ((volatile int*)t)[threadIdx.x ^ 64];
#endif
}
