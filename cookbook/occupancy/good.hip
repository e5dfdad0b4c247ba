// 16 buckets at a time with indices that are constants: the sums are registers.
// amdkernel: launch bucket_sums grid=[ceil_div(rows, 64), 6] block=[64]
#include <hip/hip_runtime.h>

constexpr int BUCKETS = 96, HELD = 16;

extern "C" __global__ __launch_bounds__(64) void bucket_sums(const float* __restrict__ x, float* __restrict__ y, int rows,
                                                             int times)
{
    int row = blockIdx.x * 64 + threadIdx.x, first = blockIdx.y * HELD;
    if (row >= rows)
        return;
    float sum[HELD] = {};
    for (int t = 0; t < times; t++) {
#pragma unroll
        for (int b = 0; b < HELD; b++)
            sum[b] += x[(size_t)(t * BUCKETS + first + b) * rows + row];
    }
#pragma unroll
    for (int b = 0; b < HELD; b++)
        y[(size_t)(first + b) * rows + row] = sum[b];
}
