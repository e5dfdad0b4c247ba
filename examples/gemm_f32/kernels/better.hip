// Tiles of 32 x 32 in LDS, 2 x 2 results per thread: a 32nd of the loads from global memory.
// amdkernel: launch gemm grid=[ceil_div(n, 32), ceil_div(m, 32)] block=[16, 16]
#include <hip/hip_runtime.h>

constexpr int TILE = 32;

extern "C" __global__ __launch_bounds__(256) void gemm(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[2][2] = {};
    for (int k0 = 0; k0 < k; k0 += TILE) {
        for (int i = t; i < TILE * TILE; i += 256) {
            int r = i / TILE, q = i % TILE;
            as[r][q] = row0 + r < m && k0 + q < k ? a[(size_t)(row0 + r) * k + k0 + q] : 0.0f;
            bs[r][q] = k0 + r < k && col0 + q < n ? b[(size_t)(k0 + r) * n + col0 + q] : 0.0f;
        }
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < TILE; i++) {
            float a0 = as[ty][i], a1 = as[ty + 16][i], b0 = bs[i][tx], b1 = bs[i][tx + 16];
            sum[0][0] += a0 * b0;
            sum[0][1] += a0 * b1;
            sum[1][0] += a1 * b0;
            sum[1][1] += a1 * b1;
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
            if (row < m && col < n)
                c[(size_t)row * n + col] = sum[i][j];
        }
}
