// One wave makes 32 x 32 results on the matrix cores, four MFMA per 16 values of k.
// amdkernel: launch gemm grid=[ceil_div(n, 32), ceil_div(m, 32)] block=[64]
#include <hip/hip_runtime.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float4v = __attribute__((ext_vector_type(4))) float;

// Lane l holds row (or column) l % 16 and the four values of k from 4 * (l / 16).
__device__ half4 row_of_a(const _Float16* a, int row, int k0, int m, int k)
{
    half4 v = {};
    for (int i = 0; i < 4; i++)
        if (row < m && k0 + i < k)
            v[i] = a[(size_t)row * k + k0 + i];
    return v;
}

__device__ half4 column_of_b(const _Float16* b, int col, int k0, int n, int k)
{
    half4 v = {};
    for (int i = 0; i < 4; i++)
        if (col < n && k0 + i < k)
            v[i] = b[(size_t)(k0 + i) * n + col];
    return v;
}

extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                      float* __restrict__ c, int m, int n, int k)
{
    int lane = threadIdx.x, across = lane % 16, quad = lane / 16;
    int row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
    float4v sum[2][2] = {};
    for (int k0 = 4 * quad; k0 - 4 * quad < k; k0 += 16) {
        half4 a0 = row_of_a(a, row0 + across, k0, m, k), a1 = row_of_a(a, row0 + 16 + across, k0, m, k);
        half4 b0 = column_of_b(b, col0 + across, k0, n, k), b1 = column_of_b(b, col0 + 16 + across, k0, n, k);
        sum[0][0] = __builtin_amdgcn_mfma_f32_16x16x16f16(a0, b0, sum[0][0], 0, 0, 0);
        sum[0][1] = __builtin_amdgcn_mfma_f32_16x16x16f16(a0, b1, sum[0][1], 0, 0, 0);
        sum[1][0] = __builtin_amdgcn_mfma_f32_16x16x16f16(a1, b0, sum[1][0], 0, 0, 0);
        sum[1][1] = __builtin_amdgcn_mfma_f32_16x16x16f16(a1, b1, sum[1][1], 0, 0, 0);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int e = 0; e < 4; e++) {
                int row = row0 + 16 * i + 4 * quad + e, col = col0 + 16 * j + across;  // of the MFMA's result
                if (row < m && col < n)
                    c[(size_t)row * n + col] = sum[i][j][e];
            }
}
