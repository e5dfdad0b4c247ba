// A ballot counts a whole wave, whatever its size.
// amdkernel: launch count grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ __launch_bounds__(256) void count(const float* __restrict__ x, int* __restrict__ y, int n)
{
    __shared__ int totals[8];  // 4 waves of 64, or 8 of 32
    int i = blockIdx.x * 256 + threadIdx.x, wave = threadIdx.x / warpSize;
    float mine = i < n ? x[i] : -1.0f;
    int total = 0;
    for (int repeat = 0; repeat < 4; repeat++) {
        unsigned long long mask = __ballot(mine > repeat);  // 64 bits; the upper half is 0 on RDNA
        total += __popcll(mask);
    }
    if (threadIdx.x % warpSize == 0)
        totals[wave] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int w = 0; w < 256 / warpSize; w++)
            all += totals[w];
        y[blockIdx.x] = all;
    }
}
