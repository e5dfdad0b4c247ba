// Four bytes at a time, with the instruction that the architecture has.
// amdkernel: launch dot grid=[ceil_div(rows, 64)] block=[64]
#include <hip/hip_runtime.h>

__device__ int dot4(int a, int b, int sum)
{
#if defined(__GFX9__)
    return __builtin_amdgcn_sdot4(a, b, sum, false);
#else
    return __builtin_amdgcn_sudot4(true, a, true, b, sum, false);  // both signed
#endif
}

extern "C" __global__ __launch_bounds__(64) void dot(const int* __restrict__ a, const int* __restrict__ b,
                                                     int* __restrict__ y, int rows, int words)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0;
    for (int w = 0; w < words; w++)
        sum = dot4(a[(size_t)row * words + w], b[w], sum);
    y[row] = sum;
}
