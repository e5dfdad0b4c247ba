// Broken: counts without atomics, so lanes that meet in a bin lose counts.
// amdkernel: launch clear grid=[ceil_div(bins, 256)] block=[256] args=[counts, bins]
// amdkernel: launch histogram grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void clear(int* counts, int bins)
{
    int b = blockIdx.x * 256 + threadIdx.x;
    if (b < bins)
        counts[b] = 0;
}

extern "C" __global__ void histogram(const int* x, int* counts, int n, int bins)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        counts[x[i]]++;
}
