// A wave makes 64 x 64 results: 2 x 2 accumulators, each operand is used twice.
// amdkernel: launch gemm grid=[ceil_div(n, 64), ceil_div(m, 64)] block=[64]
#include <hip/hip_runtime.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float16v = __attribute__((ext_vector_type(16))) float;

extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                      float* __restrict__ c, int m, int n, int k)
{
    int across = threadIdx.x % 32, group = threadIdx.x / 32;
    int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float16v sum[2][2] = {};
    for (int k0 = 0; k0 < k; k0 += 8) {
        half4 left[2] = {}, right[2] = {};
#pragma unroll
        for (int t = 0; t < 2; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int at = k0 + 4 * group + e, row = row0 + 32 * t + across, col = col0 + 32 * t + across;
                if (row < m && at < k)
                    left[t][e] = a[(size_t)row * k + at];
                if (col < n && at < k)
                    right[t][e] = b[(size_t)at * n + col];
            }
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
                sum[i][j] = __builtin_amdgcn_mfma_f32_32x32x8f16(left[i], right[j], sum[i][j], 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
            for (int r = 0; r < 16; r++) {
                int row = row0 + 32 * i + 8 * (r / 4) + 4 * group + r % 4, col = col0 + 32 * j + across;
                if (row < m && col < n)
                    c[(size_t)row * n + col] = sum[i][j][r];
            }
}
