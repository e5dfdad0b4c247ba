// Broken: adds to y, which was never set to zero.
// amdkernel: launch reduce_sum grid=[ceil_div(n, 1024)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void reduce_sum(const float* x, float* y, int n)
{
    float sum = 0.0f;
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 1024); i += 256)
        sum += x[i];
    for (int step = 32; step > 0; step >>= 1)
        sum += __shfl_xor(sum, step);
    if (threadIdx.x % 64 == 0)
        atomicAdd(y, sum);
}
