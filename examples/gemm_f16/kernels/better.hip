// A workgroup makes 32 x 32 results on the matrix cores: MFMA on CDNA, WMMA on RDNA.
// amdkernel: launch gemm grid=[ceil_div(n, 32), ceil_div(m, 32)] block=[64]
#include <hip/hip_runtime.h>

// What a wave holds of a 16 x 16 tile: lane l has row (of B: column) l % 16, HELD values of k from first_k(l) on, and of
// the result column l % 16 and the rows result_row(l, e).
#if defined(__GFX11__)
constexpr int LANES = 32, HELD = 16, RESULTS = 8;
__device__ int first_k(int lane) { return 0; }
__device__ int result_row(int lane, int e) { return 2 * e + lane / 16; }
#elif defined(__GFX12__)
constexpr int LANES = 32, HELD = 8, RESULTS = 8;
__device__ int first_k(int lane) { return 8 * (lane / 16); }
__device__ int result_row(int lane, int e) { return 8 * (lane / 16) + e; }
#else
constexpr int LANES = 64, HELD = 4, RESULTS = 4;
__device__ int first_k(int lane) { return 4 * (lane / 16); }
__device__ int result_row(int lane, int e) { return 4 * (lane / 16) + e; }
#endif

using Half = __attribute__((ext_vector_type(HELD))) _Float16;
using Sum = __attribute__((ext_vector_type(RESULTS))) float;
constexpr int DOWN = LANES / 32;  // tiles of a wave below each other: two waves of 32 lanes share the work of one of 64

__device__ Sum multiply_add(Half a, Half b, Sum sum)
{
#if defined(__GFX11__)
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum);
#elif defined(__GFX12__)
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sum);
#else
    return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, sum, 0, 0, 0);
#endif
}

__device__ Half row_of_a(const _Float16* a, int row, int k0, int m, int k)
{
    Half v = {};
    for (int i = 0; i < HELD; i++)
        if (row < m && k0 + i < k)
            v[i] = a[(size_t)row * k + k0 + i];
    return v;
}

__device__ Half column_of_b(const _Float16* b, int col, int k0, int n, int k)
{
    Half v = {};
    for (int i = 0; i < HELD; i++)
        if (col < n && k0 + i < k)
            v[i] = b[(size_t)(k0 + i) * n + col];
    return v;
}

extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                      float* __restrict__ c, int m, int n, int k)
{
    int lane = threadIdx.x % LANES, across = lane % 16;
    int row0 = blockIdx.y * 32 + threadIdx.x / LANES * 16, col0 = blockIdx.x * 32;
    Sum sum[DOWN][2] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        Half left[DOWN], right[2];
        for (int i = 0; i < DOWN; i++)
            left[i] = row_of_a(a, row0 + 16 * i + across, k0 + first_k(lane), m, k);
        for (int j = 0; j < 2; j++)
            right[j] = column_of_b(b, col0 + 16 * j + across, k0 + first_k(lane), n, k);
        for (int i = 0; i < DOWN; i++)
            for (int j = 0; j < 2; j++)
                sum[i][j] = multiply_add(left[i], right[j], sum[i][j]);
    }
    for (int i = 0; i < DOWN; i++)
        for (int j = 0; j < 2; j++)
            for (int e = 0; e < RESULTS; e++) {
                int row = row0 + 16 * i + result_row(lane, e), col = col0 + 16 * j + across;
                if (row < m && col < n)
                    c[(size_t)row * n + col] = sum[i][j][e];
            }
}
