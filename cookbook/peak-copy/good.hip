// 16 bytes a lane and four loads in flight: a workgroup moves 16 KiB.
// amdkernel: launch copy grid=[ceil_div(n, 4096)] block=[256]
#include <hip/hip_runtime.h>

using float4v = __attribute__((ext_vector_type(4))) float;

extern "C" __global__ __launch_bounds__(256) void copy(const float* __restrict__ x, float* __restrict__ y, int n)
{
    const float4v* from = (const float4v*)x;
    float4v* to = (float4v*)y;
    int pieces = n / 4, first = blockIdx.x * 1024 + threadIdx.x;
    if (first + 768 < pieces) {
        float4v held[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            held[i] = __builtin_nontemporal_load(from + first + 256 * i);
#pragma unroll
        for (int i = 0; i < 4; i++)
            __builtin_nontemporal_store(held[i], to + first + 256 * i);
    } else {
        for (int i = first; i < pieces && i < first + 1024; i += 256)
            to[i] = from[i];
    }
    int rest = 4 * pieces + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < n)
        y[rest] = x[rest];
}
