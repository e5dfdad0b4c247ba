// More LDS than a workgroup may have.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float s[65536];
    s[threadIdx.x] = a;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = s[threadIdx.x] * x[i];
}
