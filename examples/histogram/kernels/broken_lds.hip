// Broken: asks for a private histogram per thread, far more LDS than a compute unit has.
// amdkernel: launch clear grid=[ceil_div(bins, 256)] block=[256] args=[counts, bins]
// amdkernel: launch histogram grid=[1] block=[256] lds=4*256*bins
#include <hip/hip_runtime.h>

extern "C" __global__ void clear(int* counts, int bins)
{
    int b = blockIdx.x * 256 + threadIdx.x;
    if (b < bins)
        counts[b] = 0;
}

extern "C" __global__ void histogram(const int* x, int* counts, int n, int bins)
{
    extern __shared__ int local[];
    for (int b = 0; b < bins; b++)
        local[threadIdx.x * bins + b] = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        local[threadIdx.x * bins + x[i]]++;
    for (int b = 0; b < bins; b++)
        atomicAdd(&counts[b], local[threadIdx.x * bins + b]);
}
