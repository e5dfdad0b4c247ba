// Kernels that do what four recorded ones of an MI300X do, with the same launches. counters.csv has what was recorded.
#include <hip/hip_runtime.h>

// amdkernel: launch copy_neighbours grid=[256] block=[256] args=[y, x, 65536]
extern "C" __global__ void copy_neighbours(float* to, const float* from, int count)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < count)
        to[thread] = from[thread];
}

// Lanes are 128 bytes apart; the index wraps around, so half of the threads repeat what the others do.
// amdkernel: launch copy_strided grid=[256] block=[256] args=[y, x, 1048576]
extern "C" __global__ void copy_strided(float* to, const float* from, int count)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = 32;
    int place = (thread * stride) % count;
    if (place < count)
        to[place] = from[place];
}

// amdkernel: launch add_to_own grid=[32] block=[256] args=[y]
extern "C" __global__ void add_to_own(unsigned int* sums)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&sums[thread], 1);
}

// amdkernel: launch add_to_one grid=[32] block=[256] args=[y]
extern "C" __global__ void add_to_one(unsigned int* sums)
{
    atomicAdd(&sums[0], 1);
}
