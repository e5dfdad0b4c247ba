// Each workgroup counts 4096 values in LDS and adds its counts once.
// amdkernel: launch clear grid=[ceil_div(bins, 256)] block=[256] args=[counts, bins]
// amdkernel: launch histogram grid=[ceil_div(n, 4096)] block=[256] lds=4*bins
#include <hip/hip_runtime.h>

extern "C" __global__ void clear(int* counts, int bins)
{
    int b = blockIdx.x * 256 + threadIdx.x;
    if (b < bins)
        counts[b] = 0;
}

extern "C" __global__ __launch_bounds__(256) void histogram(const int* __restrict__ x, int* __restrict__ counts,
                                                            int n, int bins)
{
    extern __shared__ int local[];
    for (int b = threadIdx.x; b < bins; b += 256)
        local[b] = 0;
    __syncthreads();
    int end = min(n, (int)(blockIdx.x + 1) * 4096);
    for (int i = blockIdx.x * 4096 + threadIdx.x; i < end; i += 256)
        atomicAdd(&local[x[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += 256)
        if (local[b])
            atomicAdd(&counts[b], local[b]);
}
