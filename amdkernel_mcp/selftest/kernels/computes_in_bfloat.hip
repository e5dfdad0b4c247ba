// Half of the digits.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = a * __uint_as_float(__float_as_uint(x[i]) & 0xffff0000);
}
