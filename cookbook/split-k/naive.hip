// A thread a result, all of K.
// amdkernel: launch gemm grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
#include <hip/hip_runtime.h>

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[(size_t)row * k + i] * b[(size_t)i * n + col];
    c[(size_t)row * n + col] = sum;
}
