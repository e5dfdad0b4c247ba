// Kernels with one mistake each. `//! KIND` marks the line that a check must name, with that kind.
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

KERNEL(lds_read_before_barrier)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    y[ITEM] = s[255 - threadIdx.x]; //! race
}

KERNEL(lds_no_barrier_at_the_end_of_a_loop)
{
    __shared__ int s[256];
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x] = x[(ITEM + 256 * k) % n];
        __syncthreads();
        sum += s[255 - threadIdx.x]; //! race
    }
    y[ITEM] = sum;
}

KERNEL(lds_neighbour_of_another_wave)
{
    __shared__ int s[257];
    s[threadIdx.x] = x[ITEM];
    if (threadIdx.x == 0)
        s[256] = 0;
    int next = s[threadIdx.x + 1]; //! race
    y[ITEM] = next;
}

KERNEL(lds_scan_in_one_buffer)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    for (int k = 1; k < 256; k *= 2) {
        if (threadIdx.x >= k)
            s[threadIdx.x] += s[threadIdx.x - k]; //! race
        __syncthreads();
    }
    y[ITEM] = s[threadIdx.x];
}

KERNEL(lds_histogram_read_too_early)
{
    __shared__ int h[64];
    if (threadIdx.x < 64)
        h[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&h[x[ITEM] & 63], 1);
    if (threadIdx.x < 64)
        atomicAdd(&c[threadIdx.x], h[threadIdx.x]); //! race
}

KERNEL(lds_histogram_cleared_too_late)
{
    __shared__ int h[64];
    if (threadIdx.x < 64)
        h[threadIdx.x] = 0;
    atomicAdd(&h[x[ITEM] & 63], 1); //! race
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&c[threadIdx.x], h[threadIdx.x]);
}

KERNEL(lds_partial_sums_without_barrier)
{
    __shared__ int part[4];
    int lane = threadIdx.x & 63, wave = threadIdx.x >> 6, v = x[ITEM];
    for (int o = 32; o; o >>= 1)
        v += __shfl_down(v, o);
    if (lane == 0)
        part[wave] = v;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int k = 0; k < 4; k++)
            sum += part[k]; //! race
        y[blockIdx.x] = sum;
    }
}

KERNEL(lds_sum_cleared_while_others_add)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    atomicAdd(&sum, x[ITEM]); //! race
    __syncthreads();
    y[ITEM] = sum;
}

KERNEL(lds_maximum_read_too_early)
{
    __shared__ int most;
    if (threadIdx.x == 0)
        most = 0;
    __syncthreads();
    atomicMax(&most, x[ITEM]);
    y[ITEM] = most; //! race
}

KERNEL(lds_transpose_of_halves)
{
    __shared__ short s[16][18];
    int a = threadIdx.x & 15, b = threadIdx.x >> 4;
    s[a][b] = (short)x[ITEM];
    y[ITEM] = s[b][a]; //! race
}

KERNEL(lds_bytes_of_another_wave)
{
    __shared__ unsigned char s[256];
    s[threadIdx.x] = (unsigned char)x[ITEM];
    y[ITEM] = s[threadIdx.x ^ 64]; //! race
}

KERNEL(lds_two_waves_write_one_place)
{
    __shared__ int s[64];
    s[threadIdx.x & 63] = x[ITEM]; //! race
    __syncthreads();
    y[ITEM] = s[threadIdx.x & 63];
}

KERNEL(lds_vector_store_into_a_neighbour)
{
    __shared__ int4 s[256];
    int* flat = (int*)s;
    s[threadIdx.x] = make_int4(x[ITEM], 1, 2, 3);
    y[ITEM] = flat[4 * ((threadIdx.x + 64) % 256)]; //! race
}

KERNEL(lds_double_buffer_with_one_index_wrong)
{
    __shared__ int s[2][256];
    int sum = 0;
    s[0][threadIdx.x] = x[ITEM];
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        s[k & 1][threadIdx.x] = x[(ITEM + 256 * k) % n];
        sum += s[k & 1][255 - threadIdx.x]; //! race
        __syncthreads();
    }
    y[ITEM] = sum;
}

KERNEL(blocks_write_overlapping_output)
{
    int at = blockIdx.x * 255 + threadIdx.x;
    y[at] = x[ITEM] + (int)blockIdx.x; //! race
}

KERNEL(blocks_add_without_atomics)
{
    if (threadIdx.x == 0)
        c[0] += x[ITEM]; //! race
}

KERNEL(blocks_count_without_atomics)
{
    int bin = x[ITEM] & 15;
    c[bin] = c[bin] + 1; //! race
}

KERNEL(stencil_in_place)
{
    w[ITEM] = x[ITEM];
    __syncthreads();
    int next = w[(ITEM + 1) % n]; //! race
    y[ITEM] = next;
}

KERNEL(flag_without_fence)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            w[0] = x[0];
            atomicExch(&c[0], 1);
        }
    } else if (threadIdx.x == 0) {
        while (atomicAdd(&c[0], 0) == 0)
            ;
        y[ITEM] = w[0]; //! race
    }
}

KERNEL(volatile_flag_without_fence)
{
    volatile int* flag = c;
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            flag[0] = 1;
    } else {
        if (threadIdx.x == 0)
            while (flag[0] == 0)
                ;
        __syncthreads();
        y[ITEM] = w[threadIdx.x]; //! race
    }
}

KERNEL(flag_set_before_the_others_have_written)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        if (threadIdx.x == 0)
            while (__hip_atomic_load(&c[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0)
                ;
        __syncthreads();
        y[ITEM] = w[threadIdx.x]; //! race
    }
}

KERNEL(last_block_without_fence)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        w[blockIdx.x] = x[ITEM];
        last = atomicAdd(&c[0], 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned k = 0; k < gridDim.x; k++)
            sum += w[k]; //! race
        y[0] = sum;
    }
}

KERNEL(lock_without_fence)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&c[0], 0, 1) != 0)
            ;
        c[1] += x[ITEM]; //! race
        atomicExch(&c[0], 0);
    }
}

KERNEL(waves_share_global_memory_without_barrier)
{
    w[ITEM] = x[ITEM];
    int at = blockIdx.x * 256 + (threadIdx.x ^ 128);
    y[ITEM] = w[at]; //! race
}

KERNEL(lanes_write_one_place)
{
    y[ITEM / 2] = x[ITEM]; //! race
}

KERNEL(workspace_never_written)
{
    y[ITEM] = w[ITEM] + x[ITEM]; //! uninitialised_read
}

KERNEL(workspace_copied_unwritten)
{
    y[ITEM] = w[ITEM]; //! uninitialised_read
}

KERNEL(output_added_to)
{
    y[ITEM] += x[ITEM]; //! uninitialised_read
}

KERNEL(output_added_to_atomically)
{
    atomicAdd(&y[ITEM & 7], x[ITEM]); //! uninitialised_read
}

KERNEL(lds_one_beyond_what_was_written)
{
    __shared__ int s[257];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    y[ITEM] = s[threadIdx.x + 1]; //! uninitialised_read
}

KERNEL(lds_accumulator_not_cleared)
{
    __shared__ int sum;
    atomicAdd(&sum, x[ITEM]); //! uninitialised_read
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

KERNEL(lds_vector_with_one_element_unwritten)
{
    __shared__ int4 s[256];
    s[threadIdx.x].x = x[ITEM];
    s[threadIdx.x].y = 1;
    s[threadIdx.x].z = 2;
    __syncthreads();
    int4 v = s[255 - threadIdx.x]; //! uninitialised_read
    y[ITEM] = v.x + v.y + v.z + v.w;
}

KERNEL(branch_on_what_was_never_written)
{
    if (w[ITEM] > 0) //! uninitialised_read
        y[ITEM] = 1;
    else
        y[ITEM] = 2;
}

KERNEL(index_never_written)
{
    int k = w[ITEM] & 255; //! uninitialised_read
    y[ITEM] = x[k];
}

KERNEL(scalar_never_written)
{
    int factor = w[blockIdx.x]; //! uninitialised_read
    y[ITEM] = factor * x[ITEM];
}

KERNEL(unset_value_that_others_get_by_lds)
{
    __shared__ int s[256];
    int v = threadIdx.x ? x[ITEM] : w[ITEM]; //! uninitialised_read
    s[threadIdx.x] = 3 * v + 1;
    __syncthreads();
    y[ITEM] = s[255 - threadIdx.x] * 5;
}

KERNEL(unset_value_that_goes_from_lane_to_lane)
{
    int v = w[ITEM] * 7; //! uninitialised_read
    int got = __shfl_up(v, 1, 32);
    y[ITEM] = (threadIdx.x & 31) == 5 ? got : 0;
}

KERNEL(branch_on_what_came_of_an_unset_value)
{
    int v = w[ITEM] * 7 + x[ITEM]; //! uninitialised_read
    y[ITEM] = 1;
    if (v > 5000)
        y[ITEM] = 2;
}

// ---- uninitialised values that are narrower than what is stored, or stored next to others ----

KERNEL(byte_never_written_stored_as_a_word)
{
    y[ITEM] = ((unsigned char*)w)[ITEM]; //! uninitialised_read
}

KERNEL(half_never_written_stored_with_its_sign)
{
    y[ITEM] = ((short*)w)[ITEM]; //! uninitialised_read
}

KERNEL(byte_never_written_with_a_bit_set)
{
    y[ITEM] = ((unsigned char*)w)[ITEM] | 4096; //! uninitialised_read
}

KERNEL(low_bits_of_a_word_never_written)
{
    y[ITEM] = w[ITEM] & 15; //! uninitialised_read
}

KERNEL(word_never_written_stored_as_two)
{
    if (ITEM < n / 2)
        ((unsigned long long*)y)[ITEM] = ((unsigned*)w)[ITEM]; //! uninitialised_read
}

KERNEL(word_never_written_beside_one_that_is)
{
    if (ITEM < n / 2)
        ((int2*)y)[ITEM] = make_int2(x[ITEM], w[ITEM]); //! uninitialised_read
}

KERNEL(byte_never_written_joined_to_others_by_or)
{
    atomicOr(&c[ITEM & 7], ((unsigned char*)w)[ITEM] & 3); //! uninitialised_read
}

KERNEL(byte_never_written_joined_to_one_word)
{
    atomicOr(&c[0], ((unsigned char*)w)[ITEM] & 3); //! uninitialised_read
}

KERNEL(byte_never_written_of_the_first_lane)
{
    int first = __builtin_amdgcn_readfirstlane(((unsigned char*)w)[ITEM]); //! uninitialised_read
    y[ITEM] = first | 8;
}

KERNEL(byte_never_written_for_all_lanes)
{
    y[ITEM] = ((unsigned char*)w)[blockIdx.x] | 256; //! uninitialised_read
}

KERNEL(byte_never_written_that_goes_by_lds)
{
    __shared__ int s[256];
    s[threadIdx.x] = ((unsigned char*)w)[ITEM] << 4; //! uninitialised_read
    __syncthreads();
    y[ITEM] = s[255 - threadIdx.x];
}

KERNEL(byte_never_written_of_another_lane)
{
    int mine = ((unsigned char*)w)[ITEM]; //! uninitialised_read
    y[ITEM] = __shfl_xor(mine, 5, 32);
}

KERNEL(bytes_never_written_copied_as_they_are)
{
    ((char*)y)[ITEM] = ((char*)w)[ITEM]; //! uninitialised_read
}

KERNEL(byte_of_a_word_never_written)
{
    y[ITEM] = (w[ITEM] >> 8) & 255; //! uninitialised_read
}

KERNEL(channel_never_written_stored_as_a_number)
{
    uchar4* pixel = (uchar4*)w;
    pixel[ITEM].x = (unsigned char)x[ITEM];
    pixel[ITEM].y = 1;
    __syncthreads();
    y[ITEM] = pixel[ITEM ^ 1].z; //! uninitialised_read
}

struct Pair {
    int tag, value;
};

KERNEL(member_never_written_used_after_its_struct_was_copied)
{
    Pair *from = (Pair*)w + blockIdx.x * 128, *to = from + 64;
    unsigned t = threadIdx.x & 63;
    if (threadIdx.x < 64)
        from[t].tag = x[ITEM];
    __syncthreads();
    if (threadIdx.x < 64)
        to[t] = from[63 - t];
    __syncthreads();
    if (threadIdx.x < 64)
        y[ITEM] = to[63 - t].tag + 3 * to[63 - t].value; //! uninitialised_read
}

KERNEL(input_written)
{
    ((int*)x)[ITEM] = 0; //! input_modified
    y[ITEM] = 1;
}

KERNEL(scalar_load_not_aligned)
{
    int offset = 2 * (int)blockIdx.x + 1;
    const int* p = (const int*)((const char*)x + offset);
    y[ITEM] = *p; //! misaligned
}

KERNEL(atomic_not_aligned)
{
    int* p = (int*)((char*)c + 2);
    atomicAdd(p, x[ITEM]); //! misaligned
}

KERNEL(lds_atomic_not_aligned)
{
    __shared__ int s[64];
    s[threadIdx.x & 63] = 0;
    __syncthreads();
    int* p = (int*)((char*)s + (n & 1) + 1);
    atomicAdd(p, x[ITEM]); //! misaligned
    __syncthreads();
    y[ITEM] = s[0];
}

KERNEL(behind_the_output)
{
    y[ITEM + 1] = x[ITEM]; //! out_of_bounds
}

KERNEL(before_the_input)
{
    y[ITEM] = x[(int)ITEM - 1]; //! out_of_bounds
}

KERNEL(behind_lds)
{
    extern __shared__ int s[];
    s[threadIdx.x] = x[ITEM]; //! out_of_bounds
    y[ITEM] = s[threadIdx.x];
}

KERNEL(reads_behind_lds)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    y[ITEM] = s[2 * threadIdx.x]; //! out_of_bounds
}

// As pointers are that may lead anywhere: by flat accesses.
KERNEL(behind_lds_by_a_generic_pointer)
{
    __shared__ int s[256];
    int* anywhere = s;
    asm volatile("" : "+v"(anywhere));
    anywhere[threadIdx.x] = x[ITEM];
    __syncthreads();
    if (threadIdx.x == 70)
        anywhere[256 + 1024] = 1; //! out_of_bounds
    y[ITEM] = anywhere[255 - threadIdx.x];
}

KERNEL(reads_behind_lds_by_a_generic_pointer)
{
    __shared__ int s[256];
    int* anywhere = s;
    asm volatile("" : "+v"(anywhere));
    anywhere[threadIdx.x] = x[ITEM];
    __syncthreads();
    y[ITEM] = anywhere[2 * threadIdx.x]; //! out_of_bounds
}

KERNEL(behind_the_arguments)
{
    const int* p = (const int*)__builtin_amdgcn_kernarg_segment_ptr();
    y[ITEM] = p[1000 + threadIdx.x]; //! out_of_bounds
}

KERNEL(behind_scratch)
{
    int a[64];
    for (int k = 0; k < 64; k++)
        a[k] = x[k];
    a[n + threadIdx.x] = 3; //! out_of_bounds
    y[ITEM] = a[x[ITEM] & 63];
}

KERNEL(volatile_is_no_barrier_in_lds)
{
    __shared__ volatile int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    if (threadIdx.x < 128) {
        s[threadIdx.x] += s[threadIdx.x + 128];
        s[threadIdx.x] += s[threadIdx.x + 64]; //! race
    }
    __syncthreads();
    y[ITEM] = s[0];
}

KERNEL(greatest_without_a_barrier_between_steps)
{
    __shared__ volatile int s[256];
    __shared__ volatile int at[256];
    s[threadIdx.x] = x[ITEM];
    at[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int d = 128; d; d >>= 1)
        if (threadIdx.x < d) {
            int other = s[threadIdx.x + d]; //! race
            int from = at[threadIdx.x + d]; //! race
            if (other > s[threadIdx.x] || (other == s[threadIdx.x] && from < at[threadIdx.x])) {
                s[threadIdx.x] = other;
                at[threadIdx.x] = from;
            }
        }
    __syncthreads();
    y[ITEM] = s[0] + at[0];
}

KERNEL(fence_of_the_block_alone)
{
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        w[5] = x[5];
        __threadfence_block();
        atomicExch(&c[0], 1);
    }
    if (blockIdx.x == 2 && threadIdx.x == 0) {
        while (atomicAdd(&c[0], 0) == 0)
            ;
        __threadfence();
        y[5] = w[5]; //! race
    }
}

KERNEL(counter_without_fence)
{
    __shared__ bool last;
    w[ITEM] = x[ITEM];
    __syncthreads();
    if (threadIdx.x == 0)
        last = __hip_atomic_fetch_add(&c[0], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == (int)gridDim.x - 1;
    __syncthreads();
    if (last)
        y[threadIdx.x] = w[threadIdx.x] + w[threadIdx.x + 512]; //! race
}

KERNEL(flag_for_the_workgroup_alone)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP); // on some the read below
    } else {
        if (threadIdx.x == 0)
            while (!__hip_atomic_load(&c[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
                ;
        __syncthreads();
        y[ITEM] = w[threadIdx.x]; //! race
    }
}

KERNEL(flag_awaited_from_the_workgroup_alone)
{
    if (blockIdx.x == 0) {
        w[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            __hip_atomic_store(&c[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        if (threadIdx.x == 0)
            while (!__hip_atomic_load(&c[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP))
                ;
        __syncthreads();
        y[ITEM] = w[threadIdx.x]; //! race
    }
}

KERNEL(counter_of_which_the_workgroup_alone_learns)
{
    __shared__ bool last;
    w[ITEM] = x[ITEM];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = __hip_atomic_fetch_add(&c[0], 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP) == (int)gridDim.x - 1;
    __syncthreads();
    if (last)
        y[threadIdx.x] = w[threadIdx.x] + w[threadIdx.x + 512]; //! race
}

KERNEL(sum_of_what_was_never_written)
{
    float s = 0;
    for (int k = 0; k < 4; k++)
        s += ((float*)w)[ITEM]; //! uninitialised_read
    y[ITEM] = (int)s;
}

KERNEL(far_behind_the_output)
{
    if (ITEM == 0)
        y[n + 400000] = 7; //! out_of_bounds
}

KERNEL(total_used_before_its_barrier)
{
    __shared__ float part[64], total;
    if (threadIdx.x < 64)
        part[threadIdx.x] = (float)x[threadIdx.x] + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        float s = 0;
        for (int k = 0; k < 64; k++)
            s += part[k];
        total = s;
    }
    float share = 0;
    for (int k = 0; k < n / 16; k++)
        share += part[k] / total; //! race
    y[ITEM] = (int)share;
}

KERNEL(one_byte_too_many_of_a_word)
{
    __shared__ unsigned char s[256];
    unsigned t = threadIdx.x;
    if (t < 253)
        s[t] = (unsigned char)x[ITEM];
    __syncthreads();
    unsigned char* out = (unsigned char*)(y + blockIdx.x * 256);
    if (t < 64 && 4 * t + 1 <= 253)
        out[t] = (unsigned char)(s[4 * t] + s[4 * t + 1]); //! uninitialised_read
}

KERNEL(vectors_copied_of_which_the_last_is_not_whole)
{
    if (threadIdx.x < 253)
        w[ITEM] = x[ITEM];
    __syncthreads();
    unsigned vector = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x < 64)
        ((int4*)y)[vector] = ((int4*)w)[vector]; //! uninitialised_read
}

KERNEL(nibbles_of_a_word_that_is_set_in_part)
{
    unsigned char* bytes = (unsigned char*)(w + blockIdx.x * 256);
    unsigned t = threadIdx.x;
    if (t < 126)
        bytes[t] = (unsigned char)x[ITEM];
    __syncthreads();
    unsigned word = ((unsigned*)bytes)[t / 8]; //! uninitialised_read
    float nibble = (float)(word >> 4 * (t & 7) & 15) - 8; // of the last word two bytes are set
    y[ITEM] = (int)(nibble > 0 ? nibble : 0);
}

KERNEL(bytes_of_words_in_a_loop)
{
    signed char* bytes = (signed char*)(w + blockIdx.x * 256);
    unsigned t = threadIdx.x;
    if (t < 254)
        bytes[t] = (signed char)x[ITEM];
    __syncthreads();
    if (t < 64) {
        int word = ((int*)bytes)[t], sum = 0; //! uninitialised_read
        for (int k = 0; k < 4; k++)
            sum += (signed char)(word >> 8 * k);
        atomicAdd(&c[0], sum);
    }
}

KERNEL(ballot_over_one_unset_byte)
{
    unsigned char* marks = (unsigned char*)(w + blockIdx.x * 256);
    unsigned t = threadIdx.x;
    if (t != 77)
        marks[t] = (unsigned char)(x[ITEM] & 1);
    __syncthreads();
    bool taken = t < 200 && marks[t]; //! uninitialised_read
    unsigned long long all = __ballot(taken);
    int before = 0;
    if (t % warpSize == 0)
        before = atomicAdd(&c[0], (int)__popcll(all));
    before = __shfl(before, 0);
    if (taken)
        y[blockIdx.x * 256 + (before & 63)] = (int)t;
}

KERNEL(bit_of_an_unset_word)
{
    if (threadIdx.x != 40)
        w[ITEM] = x[ITEM];
    __syncthreads();
    unsigned flags = (unsigned)w[blockIdx.x * 256 + threadIdx.x / 4 * 4]; //! uninitialised_read
    y[ITEM] = (flags & 1u << threadIdx.x % 32) != 0;
}

KERNEL(bytes_put_in_order_by_a_selector)
{
    unsigned char* bytes = (unsigned char*)(w + blockIdx.x * 256);
    unsigned t = threadIdx.x;
    if (t % 4 != 2 || t == 2)
        bytes[t] = (unsigned char)x[ITEM];
    __syncthreads();
    if (t < 64) {
        unsigned word = ((unsigned*)bytes)[t]; //! uninitialised_read
        unsigned order = t & 1 ? 0x03020100 : 0x00010203;
        unsigned moved = __builtin_amdgcn_perm(word, word, order);
        y[ITEM] = (int)(moved >> 16 & 255) * 3;
    }
}

KERNEL(counter_cleared_by_a_wave_that_may_be_late)
{
    __shared__ int queue[2][256], count[2];
    unsigned t = threadIdx.x;
    if (t == 0) {
        count[0] = 64;
        count[1] = 0;
    }
    queue[0][t] = x[ITEM];
    __syncthreads();
    for (int round = 0; round < 2; round++) {
        int now = round & 1, next = now ^ 1;
        if (t == 0)
            count[next] = 0; //! race
        if ((int)t < count[now] * 2)
            queue[next][atomicAdd(&count[next], 1) & 255] = queue[now][t / 2];
        __syncthreads();
        if (t == 0)
            c[1 + round + 2 * blockIdx.x] = count[next];
        __syncthreads();
    }
}

struct Flags {
    unsigned kind : 3, level : 7, rest : 22;
};

KERNEL(bit_field_that_nobody_set)
{
    Flags* all = (Flags*)w + blockIdx.x * 256;
    all[threadIdx.x].kind = 5;
    __syncthreads();
    if (threadIdx.x % 2)
        all[threadIdx.x].level = (unsigned)x[ITEM];
    __syncthreads();
    Flags own = all[threadIdx.x]; //! uninitialised_read
    y[ITEM] = (int)(own.kind * 100 + own.level);
}

KERNEL(unset_bit_in_a_word_of_which_others_are_set)
{
    w[ITEM] |= 1 << threadIdx.x % 8;
    __syncthreads();
    if (w[ITEM] & 4) //! uninitialised_read
        y[ITEM] = 1;
}

KERNEL(unset_word_moved_by_a_place)
{
    if (threadIdx.x != 9)
        w[ITEM] = x[ITEM];
    __syncthreads();
    int old = w[blockIdx.x * 256 + (threadIdx.x ^ 1)]; //! uninitialised_read
    __syncthreads();
    w[ITEM] = old | 1;
}

KERNEL(load_used_before_its_wait)
{
    const int* p = &x[ITEM];
    int v;
    asm volatile(LOAD " %0, %1, off" : "=v"(v) : "v"(p)); //! missing_wait
    y[ITEM] = v + 1;
}

KERNEL(second_of_two_loads_not_waited_for)
{
    const int* p = &x[ITEM & ~1u];
    int a, b, sum;
    asm volatile(LOAD " %0, %1, off" : "=v"(a) : "v"(p));
    asm volatile(LOAD " %1, %3, off offset:4\n" //! missing_wait
                 AWAIT_ALL_BUT_ONE_LOAD "\n v_or_b32 %0, %1, %2\n" AWAIT_LOADS
                 : "=&v"(sum), "=&v"(b) : "v"(a), "v"(p));
    y[ITEM] = sum + b;
}

KERNEL(scalar_load_used_before_its_wait)
{
    int v;
    asm volatile("s_nop 0\n v_readfirstlane_b32 s40, %1\n v_readfirstlane_b32 s41, %2\n s_nop 4\n" //! missing_wait
                 S_LOAD " s42, s[40:41], 0x0\n v_mov_b32 %0, s42\n" AWAIT_SCALARS
                 : "=v"(v) : "v"((int)(size_t)x), "v"((int)((size_t)x >> 32)) : "s40", "s41", "s42");
    y[ITEM] = v;
}

KERNEL(scalar_load_counted_as_if_it_came_in_order)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    int v, u;
    asm volatile("s_nop 0\n v_readfirstlane_b32 s40, %2\n v_readfirstlane_b32 s41, %3\n s_nop 4\n" //! missing_wait
                 S_LOAD " s42, s[40:41], 0x0\n" LDS_LOAD " %1, %4\n" AWAIT_ALL_BUT_ONE_OF_LDS "\n v_mov_b32 %0, s42\n"
                 AWAIT_SCALARS "\n" AWAIT_LDS
                 : "=&v"(v), "=&v"(u) : "v"((int)(size_t)x), "v"((int)((size_t)x >> 32)), "v"(IN_LDS(&s[threadIdx.x]))
                 : "s40", "s41", "s42");
    y[ITEM] = v + u;
}

KERNEL(lds_load_used_before_its_wait)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[ITEM];
    __syncthreads();
    int v;
    asm volatile(LDS_LOAD " %0, %1" : "=v"(v) : "v"(IN_LDS(&s[255 - threadIdx.x])) : "memory"); //! missing_wait
    y[ITEM] = v + 1;
}

KERNEL(register_overwritten_before_its_load_has_filled_it)
{
    const int* p = &x[ITEM];
    int v;
    asm volatile(LOAD " %0, %1, off\n v_mov_b32 %0, 7\n" AWAIT_LOADS : "=&v"(v) : "v"(p)); //! missing_wait
    y[ITEM] = v;
}

KERNEL(wait_missing_in_a_loop_of_loads)
{
    int sum = 0;
    for (int k = 0; k < n / 256; k++) {
        const int* p = &x[k * 256 + threadIdx.x];
        int next;
        asm volatile("v_mov_b32 %0, 0\n" LOAD " %0, %2, off\n v_xor_b32 %1, %1, %0" //! missing_wait
                     : "=&v"(next), "+v"(sum) : "v"(p));
    }
    y[ITEM] = sum;
}

KERNEL(barrier_before_a_store_to_lds_has_landed)
{
    __shared__ int s[256];
    int v = x[ITEM];
    asm volatile(LDS_STORE " %0, %1\n" BARRIER :: "v"(IN_LDS(&s[threadIdx.x])), "v"(v) : "memory"); //! missing_wait
    y[ITEM] = s[255 - threadIdx.x];
}

KERNEL(register_that_was_never_set)
{
    int v;
    asm volatile("v_xor_b32 %0, v99, %1" : "=v"(v) : "v"(x[ITEM]) : "v99"); //! uninitialised_read
    y[ITEM] = v;
}

KERNEL(scalar_register_that_was_never_set)
{
    int v;
    asm volatile("s_and_b32 %0, s90, 1" : "=s"(v) : : "s90", "scc"); if (v) //! uninitialised_read
        y[ITEM] = x[ITEM];
    else
        y[ITEM] = 0;
}

KERNEL(private_array_read_beyond_what_was_written)
{
    volatile int a[16];
    for (int k = 0; k < 8; k++)
        a[k] = x[ITEM];
    y[ITEM] = a[12 + (threadIdx.x & 1)]; //! uninitialised_read
}

KERNEL(private_memory_that_decides_a_branch)
{
    volatile int found[4];
    for (int k = 0; k < 4; k++)
        if (x[(ITEM + k) % n] == -5)
            found[k] = 1;
    if (found[threadIdx.x & 3]) //! uninitialised_read
        y[ITEM] = 1;
    else
        y[ITEM] = 0;
}

#if defined(__gfx90a__)
#define MOVE_TO_LDS(address) "global_load_dword " address ", off lds"
#else
#define MOVE_TO_LDS(address) "global_load_lds_dword " address ", off"
#endif
#define OWN_PART(s) "s"(__builtin_amdgcn_readfirstlane(IN_LDS(&s[threadIdx.x & ~63u])))

KERNEL(lds_read_before_the_load_into_it_has_returned)
{
    y[ITEM] = x[ITEM];
#if defined(__GFX9__)
    __shared__ int s[256];
    const int* p = &x[ITEM];
    int v;
    asm volatile("s_mov_b32 m0, %3\n s_nop 0\n " MOVE_TO_LDS("%1") "\n ds_read_b32 %0, %2\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=v"(v) : "v"(p), "v"(IN_LDS(&s[threadIdx.x])), OWN_PART(s) : "memory"); //! missing_wait
    y[ITEM] = v;
#endif
}

KERNEL(barrier_before_a_load_into_lds_has_returned)
{
    y[ITEM] = x[ITEM];
#if defined(__GFX9__)
    __shared__ int s[256];
    const int* p = &x[ITEM];
    asm volatile("s_mov_b32 m0, %1\n s_nop 0\n " MOVE_TO_LDS("%0") "\n s_barrier" : : "v"(p), OWN_PART(s) : "memory"); //! missing_wait
    y[ITEM] = ((volatile int*)s)[threadIdx.x ^ 64];
#endif
}
