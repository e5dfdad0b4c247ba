// Broken: the counts are never set to zero.
// amdkernel: launch histogram grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void histogram(const int* x, int* counts, int n, int bins)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        atomicAdd(&counts[x[i]], 1);
}
