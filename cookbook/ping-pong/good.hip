// 8 waves in two groups, one phase apart; each group makes 64 x 64 results from tiles of its own in LDS.
// amdkernel: launch gemm grid=[ceil_div(n, 64), ceil_div(m, 128)] block=[512]
#include <hip/hip_runtime.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float16v = __attribute__((ext_vector_type(16))) float;

constexpr int K = 16, PITCH = 20;  // halves of a row of a tile, padded to keep 8-byte alignment

extern "C" __global__ __launch_bounds__(512) void gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                       float* __restrict__ c, int m, int n, int k)
{
    __shared__ __attribute__((aligned(16))) _Float16 left[2][64 * PITCH], right[2][64 * PITCH];  // right is transposed
    int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64), half = wave / 4, mine = threadIdx.x % 256;
    int across = threadIdx.x % 32, group = threadIdx.x % 64 / 32;
    int row0 = blockIdx.y * 128 + half * 64, col0 = blockIdx.x * 64;
    int tile_row = wave % 4 / 2 * 32, tile_col = wave % 2 * 32;

    if (half == 1)
        __syncthreads();  // one phase behind the first group
    float16v sum = {};
    for (int k0 = 0; k0 < k; k0 += K) {
        for (int i = mine; i < 64 * K; i += 256) {  // load phase
            int row = i / K, at = i % K;
            left[half][row * PITCH + at] =
                row0 + row < m && k0 + at < k ? a[(size_t)(row0 + row) * k + k0 + at] : (_Float16)0;
            int col = i % 64, deep = i / 64;
            right[half][col * PITCH + deep] =
                col0 + col < n && k0 + deep < k ? b[(size_t)(k0 + deep) * n + col0 + col] : (_Float16)0;
        }
        __syncthreads();
        __builtin_amdgcn_s_setprio(1);  // compute phase
#pragma unroll
        for (int step = 0; step < K; step += 8) {
            half4 x = *(const half4*)&left[half][(tile_row + across) * PITCH + step + 4 * group];
            half4 y = *(const half4*)&right[half][(tile_col + across) * PITCH + step + 4 * group];
            sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
        }
        __builtin_amdgcn_s_setprio(0);
        __syncthreads();
    }
    if (half == 0)
        __syncthreads();  // as many as the second group
    for (int r = 0; r < 16; r++) {
        int row = row0 + tile_row + 8 * (r / 4) + 4 * group + r % 4, col = col0 + tile_col + across;
        if (row < m && col < n)
            c[(size_t)row * n + col] = sum[r];
    }
}
