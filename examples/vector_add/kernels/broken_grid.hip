// Broken: the grid is rounded down, so the last elements are never written.
// amdkernel: launch vector_add grid=[max(1, n // 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}
