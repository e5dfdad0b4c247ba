// Stores far outside its arrays.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i + (1l << 33)] = a * x[i];
}
