// An atomic in LDS for each element that counts.
// amdkernel: launch count grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void count(const float* x, int* y, int n)
{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int repeat = 0; repeat < 4; repeat++)
        if (i < n && x[i] > repeat)
            atomicAdd(&total, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = total;
}
