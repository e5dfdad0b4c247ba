// Writes its input, and restores it.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    volatile float* own = (volatile float*)x;
    float v = own[i];
    own[i] = 0;
    y[i] = a * v;
    own[i] = v;
}
