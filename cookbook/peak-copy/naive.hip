// A float a thread.
// amdkernel: launch copy grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void copy(const float* x, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}
