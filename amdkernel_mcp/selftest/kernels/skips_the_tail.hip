// Whole vectors only: the last elements are not written.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n / 4) {
        float4 v = ((const float4*)x)[i];
        ((float4*)y)[i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }
}
