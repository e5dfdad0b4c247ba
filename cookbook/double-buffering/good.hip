// Two buffers: the next tile is loaded to registers before the current one is used.
// amdkernel: launch gemm grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
#include <hip/hip_runtime.h>

extern "C" __global__ __launch_bounds__(256) void gemm(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ c, int m, int n, int k)
{
    __shared__ float left[2][16][17], right[2][16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    auto load_a = [&](int k0) { return row < m && k0 + x < k ? a[(size_t)row * k + k0 + x] : 0.0f; };
    auto load_b = [&](int k0) { return col < n && k0 + y < k ? b[(size_t)(k0 + y) * n + col] : 0.0f; };
    float sum = 0.0f;
    int now = 0;
    left[0][y][x] = load_a(0);
    right[0][y][x] = load_b(0);
    __syncthreads();
    for (int k0 = 0; k0 < k; k0 += 16) {
        float next_a = load_a(k0 + 16), next_b = load_b(k0 + 16);  // in flight during the products
#pragma unroll
        for (int i = 0; i < 16; i++)
            sum += left[now][y][i] * right[now][i][x];
        left[1 - now][y][x] = next_a;
        right[1 - now][y][x] = next_b;
        now = 1 - now;
        __syncthreads();  // the only one of a step
    }
    if (row < m && col < n)
        c[(size_t)row * n + col] = sum;
}
