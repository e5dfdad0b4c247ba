// Never ends.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = a * x[i];
    while (((volatile float*)y)[0] != 12345.0f)
        ;
}
