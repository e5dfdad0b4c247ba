// Each wave loads its own operands from memory.
// amdkernel: launch gemm grid=[ceil_div(n, 32), ceil_div(m, 32)] block=[64]
#include <hip/hip_runtime.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float16v = __attribute__((ext_vector_type(16))) float;

extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* a, const _Float16* b, float* c, int m, int n, int k)
{
    int across = threadIdx.x % 32, group = threadIdx.x / 32;
    int row = blockIdx.y * 32 + across, col = blockIdx.x * 32 + across;
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
