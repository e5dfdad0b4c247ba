// A wave of 32 lanes makes a tile of 16 x 16 results.
// amdkernel: launch gemm grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[32]
#include <hip/hip_runtime.h>

#if defined(__GFX12__)
constexpr int HELD = 8;
__device__ int first_k(int lane) { return 8 * (lane / 16); }
__device__ int result_row(int lane, int r) { return 8 * (lane / 16) + r; }
#else
constexpr int HELD = 16;  // both halves of the wave hold the same
__device__ int first_k(int lane) { return 0; }
__device__ int result_row(int lane, int r) { return 2 * r + lane / 16; }
#endif

using Halves = __attribute__((ext_vector_type(HELD))) _Float16;
using float8v = __attribute__((ext_vector_type(8))) float;

__device__ float8v multiply_add(Halves a, Halves b, float8v sum)
{
#if defined(__GFX12__)
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sum);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum);
#endif
}

extern "C" __global__ __launch_bounds__(32) void gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                      float* __restrict__ c, int m, int n, int k)
{
    int lane = threadIdx.x;
    int row = blockIdx.y * 16 + lane % 16, col = blockIdx.x * 16 + lane % 16;
    float8v sum = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        Halves left = {}, right = {};
        for (int e = 0; e < HELD; e++) {
            int at = k0 + first_k(lane) + e;
            if (row < m && at < k)
                left[e] = a[(size_t)row * k + at];
            if (col < n && at < k)
                right[e] = b[(size_t)at * n + col];
        }
        sum = multiply_add(left, right, sum);
    }
    for (int r = 0; r < 8; r++) {
        int out = blockIdx.y * 16 + result_row(lane, r);
        if (out < m && col < n)
            c[(size_t)out * n + col] = sum[r];
    }
}
