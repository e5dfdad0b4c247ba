// Broken: a block of 64 x 32 threads, twice what a workgroup may have.
// amdkernel: launch vector_add grid=[ceil_div(n, 2048)] block=[64, 32]
#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n)
{
    int i = blockIdx.x * 2048 + threadIdx.y * 64 + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}
