// Straight to LDS: each wave fills 64 floats an instruction.
// amdkernel: launch reverse grid=[ceil_div(n, 1024)] block=[256]
#include <hip/hip_runtime.h>

using Global = __attribute__((address_space(1))) void*;
using Shared = __attribute__((address_space(3))) void*;

extern "C" __global__ __launch_bounds__(256) void reverse(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ float tile[1024];
    int first = blockIdx.x * 1024;
    int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    for (int i = 0; i < 4; i++) {
        int at = i * 256 + threadIdx.x;
        // The base of the wave's 64 floats; lane l writes the l-th of them.
        __builtin_amdgcn_global_load_lds((Global)(x + min(first + at, n - 1)), (Shared)(tile + i * 256 + wave * 64), 4, 0, 0);
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        int at = i * 256 + threadIdx.x;
        if (first + at < n)
            y[first + at] = tile[min(1023, n - 1 - first) - at];
    }
}
