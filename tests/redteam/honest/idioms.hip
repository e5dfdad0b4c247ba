// Idioms of tuned CDNA kernels: dies, priorities, schedules, direct loads to LDS, packed arithmetic, DPP.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float2_ __attribute__((ext_vector_type(2)));
typedef float float4_ __attribute__((ext_vector_type(4)));

//# case matrix_tiles_that_are_spread_over_the_dies
//# problem product
// amdkernel: launch kern grid=[ceil_div(n, 16) * ceil_div(m, 16)] block=[64]
extern "C" __global__ __launch_bounds__(64) void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    // Workgroups go round the 8 dies: neighbours in memory get one die.
    int all = gridDim.x, per = all / 8, rest = all % 8, die = blockIdx.x % 8, at = blockIdx.x / 8;
    int tile = die * per + min(die, rest) + at, wide = (n + 15) / 16;
    int row = tile / wide * 16, col = tile % wide * 16, lane = threadIdx.x % 16, part = threadIdx.x / 16 * 4;
    const _Float16* from = a + min(row + lane, m - 1) * k + part;
    const _Float16* other = bt + min(col + lane, n - 1) * k + part;
    float4_ acc = {0, 0, 0, 0};
    half4 va = *(const half4*)from, vb = *(const half4*)other;
    for (int i = 16; i <= k; i += 16) {
        half4 na = i < k ? *(const half4*)(from + i) : va, nb = i < k ? *(const half4*)(other + i) : vb;
        __builtin_amdgcn_s_setprio(1);
        acc = __builtin_amdgcn_mfma_f32_16x16x16f16(va, vb, acc, 0, 0, 0);
        __builtin_amdgcn_s_setprio(0);
        __builtin_amdgcn_sched_group_barrier(0x20, 2, 0);
        __builtin_amdgcn_sched_group_barrier(0x8, 1, 0);
        va = na;
        vb = nb;
    }
    for (int i = 0; i < 4; i++)
        if (row + part + i < m && col + lane < n)
            c[(row + part + i) * n + col + lane] = acc[i];
}

//# case softmax_by_powers_of_two_and_dpp
//# problem softmax
// amdkernel: launch kern grid=[rows] block=[64]
template <int CONTROL> static __device__ float moved(float v, float without)
{
    return __int_as_float(
        __builtin_amdgcn_update_dpp(__float_as_int(without), __float_as_int(v), CONTROL, 0xf, 0xf, false));
}
template <class Join> static __device__ float over_wave(float v, float none, Join join)
{
    v = join(v, moved<0x111>(v, none)); // row_shr:1
    v = join(v, moved<0x112>(v, none));
    v = join(v, moved<0x114>(v, none));
    v = join(v, moved<0x118>(v, none));
    v = join(v, moved<0x142>(v, none)); // row_bcast:15
    v = join(v, moved<0x143>(v, none));
    return __int_as_float(__builtin_amdgcn_readlane(__float_as_int(v), 63));
}
extern "C" __global__ __launch_bounds__(64) void kern(const float* x, float* y, int rows, int cols)
{
    constexpr float log2e = 1.44269504f;
    float held[8], top = -INFINITY, sum = 0;
    for (int i = 0; i < 8; i++) {
        int c = threadIdx.x + 64 * i;
        held[i] = c < cols ? x[blockIdx.x * cols + c] * log2e : -INFINITY;
        top = fmaxf(top, held[i]);
    }
    top = over_wave(top, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
    for (int i = 0; i < 8; i++)
        sum += held[i] = __builtin_amdgcn_exp2f(held[i] - top);
    sum = over_wave(sum, 0.0f, [](float a, float b) { return a + b; });
    float inverse = __builtin_amdgcn_rcpf(sum);
    for (int i = 0; i < 8; i++)
        if (int c = threadIdx.x + 64 * i; c < cols)
            y[blockIdx.x * cols + c] = held[i] * inverse;
}

//# case streams_past_the_caches_by_grid_stride
//# problem scale
// amdkernel: launch k grid=[min(ceil_div(n, 1024), 608)] block=[256]
extern "C" __global__ __launch_bounds__(256) void k(const float* x, float* y, int n, float a)
{
    int stride = gridDim.x * 256 * 4;
    for (int i = AT * 4; i < n; i += stride) {
        if (i + 4 <= n) {
            float4_ v = __builtin_nontemporal_load((const float4_*)(x + i));
            __builtin_nontemporal_store(v * a, (float4_*)(y + i));
        } else {
            for (int j = i; j < n; j++)
                y[j] = a * x[j];
        }
    }
}

//# case loads_to_lds_without_registers
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ __launch_bounds__(256) void k(const float* x, float* y, int n, float a)
{
    __shared__ float s[256];
    int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64), i = min(AT, n - 1);
    __builtin_amdgcn_global_load_lds(
        (__attribute__((address_space(1))) void*)(x + i), (__attribute__((address_space(3))) void*)(s + 64 * wave), 4, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    if (AT < n)
        y[AT] = a * s[threadIdx.x];
}

//# case multiplies_pairs_of_floats_at_once
//# problem matvec
// amdkernel: launch k grid=[ceil_div(rows, 4)] block=[256]
extern "C" __global__ __launch_bounds__(256) void k(const float* a, const float* x, float* y, int rows, int cols)
{
    int row = __builtin_amdgcn_readfirstlane(blockIdx.x * 4 + threadIdx.x / 64), lane = threadIdx.x % 64;
    if (row >= rows)
        return;
    const float* from = a + (size_t)row * cols;
    float2_ sums = {0, 0};
    int c = lane * 2;
    for (; c + 1 < cols; c += 128)
        sums = __builtin_elementwise_fma(float2_{from[c], from[c + 1]}, float2_{x[c], x[c + 1]}, sums);
    float sum = sums[0] + sums[1] + (c < cols ? from[c] * x[c] : 0.0f);
    for (int d = 32; d; d /= 2)
        sum += __shfl_xor(sum, d);
    if (lane == 0)
        y[row] = sum;
}

//# case packs_four_codes_by_a_permute
//# problem quantise
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, signed char* q, int n, float step)
{
    int i = AT * 4;
    unsigned code[4];
    float inverse = 1.0f / step;
    for (int j = 0; j < 4; j++)
        code[j] = (int)__builtin_amdgcn_fmed3f(rintf(i + j < n ? x[i + j] * inverse : 0.0f), -128.0f, 127.0f);
    unsigned low = __builtin_amdgcn_perm(code[1], code[0], 0x0c0c0400), high = __builtin_amdgcn_perm(code[3], code[2], 0x0c0c0400);
    unsigned all = low | high << 16;
    if (i + 4 <= n)
        *(unsigned*)(q + i) = all;
    else
        for (int j = 0; i + j < n; j++)
            q[i + j] = (signed char)(all >> 8 * j);
}
