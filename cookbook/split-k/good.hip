// K in 16 parts: partial products in a workspace, then their sum.
// amdkernel: workspace partial dtype=f32 shape=[16, m, n]
// amdkernel: launch part grid=[ceil_div(n, 16), ceil_div(m, 16), 16] block=[16, 16] args=[a, b, partial, m, n, k]
// amdkernel: launch total grid=[ceil_div(m * n, 256)] block=[256] args=[partial, c, m * n]
#include <hip/hip_runtime.h>

constexpr int SPLITS = 16;

extern "C" __global__ __launch_bounds__(256) void part(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ partial, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n)
        return;
    int length = (k + SPLITS - 1) / SPLITS;
    int first = blockIdx.z * length, last = min(k, first + length);
    float sum = 0.0f;
    for (int i = first; i < last; i++)
        sum += a[(size_t)row * k + i] * b[(size_t)i * n + col];
    partial[((size_t)blockIdx.z * m + row) * n + col] = sum;
}

extern "C" __global__ __launch_bounds__(256) void total(const float* __restrict__ partial, float* __restrict__ c, int size)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= size)
        return;
    float sum = 0.0f;
    for (int s = 0; s < SPLITS; s++)
        sum += partial[(size_t)s * size + i];
    c[i] = sum;
}
