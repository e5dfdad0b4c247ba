// A wave makes a tile of 32 x 32 results with v_mfma_f32_32x32x8_f16.
// amdkernel: launch gemm grid=[ceil_div(n, 32), ceil_div(m, 32)] block=[64]
#include <hip/hip_runtime.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float16v = __attribute__((ext_vector_type(16))) float;

extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                      float* __restrict__ c, int m, int n, int k)
{
    int lane = threadIdx.x, across = lane % 32, group = lane / 32;
    int row = blockIdx.y * 32 + across;  // of A, for this lane
    int col = blockIdx.x * 32 + across;  // of B and of the result
    float16v sum = {};
    for (int k0 = 0; k0 < k; k0 += 8) {
        half4 left = {}, right = {};
        for (int e = 0; e < 4; e++) {
            int at = k0 + 4 * group + e;
            if (row < m && at < k)
                left[e] = a[(size_t)row * k + at];
            if (col < n && at < k)
                right[e] = b[(size_t)at * n + col];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(left, right, sum, 0, 0, 0);
    }
    for (int r = 0; r < 16; r++) {
        int out = blockIdx.y * 32 + 8 * (r / 4) + 4 * group + r % 4;
        if (out < m && col < n)
            c[(size_t)out * n + col] = sum[r];
    }
}
