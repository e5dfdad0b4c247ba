// Broken: no bounds check, so the last block reads and writes behind the arrays.
// amdkernel: launch vector_add grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    z[i] = x[i] + y[i];
}
