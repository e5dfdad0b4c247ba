// One buffer: load, barrier, compute, barrier.
// amdkernel: launch gemm grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
#include <hip/hip_runtime.h>

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float left[16][17], right[16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        left[y][x] = row < m && k0 + x < k ? a[(size_t)row * k + k0 + x] : 0.0f;
        right[y][x] = col < n && k0 + y < k ? b[(size_t)(k0 + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[(size_t)row * n + col] = sum;
}
