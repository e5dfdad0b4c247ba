// Broken: the last tile along k is used as if it were full, though k need not be a multiple of 16.
// amdkernel: launch gemm grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
#include <hip/hip_runtime.h>

constexpr int TILE = 16;

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        as[ty][tx] = row < m ? a[(size_t)row * k + k0 + tx] : 0.0f;
        bs[ty][tx] = col < n ? b[(size_t)(k0 + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[(size_t)row * n + col] = sum;
}
