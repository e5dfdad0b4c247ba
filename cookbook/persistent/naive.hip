// Every workgroup loads the table for 256 elements.
// amdkernel: launch look_up grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void look_up(const unsigned char* x, const float* table, float* y, int n)
{
    __shared__ float held[256];
    held[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = held[x[i]];
}
