// The bucket is known at run time only: the array of sums is in scratch memory.
// amdkernel: launch bucket_sums grid=[ceil_div(rows, 64)] block=[64]
#include <hip/hip_runtime.h>

constexpr int BUCKETS = 96;

extern "C" __global__ void bucket_sums(const float* x, float* y, int rows, int times)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;
    float sum[BUCKETS];
    for (int b = 0; b < BUCKETS; b++)
        sum[b] = 0.0f;
    for (int c = 0; c < times * BUCKETS; c++)
        sum[c % BUCKETS] += x[(size_t)c * rows + row];
    for (int b = 0; b < BUCKETS; b++)
        y[(size_t)b * rows + row] = sum[b];
}
