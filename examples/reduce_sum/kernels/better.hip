// Two launches: many workgroups make partial sums with 16-byte loads and shuffles, one adds them up.
// amdkernel: workspace partial dtype=f32 shape=[min(256, ceil_div(n, 4096))]
// amdkernel: launch partial_sums grid=[min(256, ceil_div(n, 4096))] block=[256] args=[x, partial, n]
// amdkernel: launch final_sum grid=[1] block=[64] args=[partial, y, min(256, ceil_div(n, 4096))]
#include <hip/hip_runtime.h>

__device__ float wave_sum(float v)
{
    for (int step = warpSize / 2; step > 0; step >>= 1)
        v += __shfl_xor(v, step);
    return v;
}

extern "C" __global__ __launch_bounds__(256) void partial_sums(const float* __restrict__ x,
                                                               float* __restrict__ partial, int n)
{
    __shared__ float waves[8];  // enough for waves of 32 lanes
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += 256 * gridDim.x) {
        float4 v = ((const float4*)x)[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    int rest = n / 4 * 4 + threadIdx.x;
    if (blockIdx.x == 0 && rest < n)
        sum += x[rest];
    sum = wave_sum(sum);
    if (threadIdx.x % warpSize == 0)
        waves[threadIdx.x / warpSize] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (int wave = 0; wave < 256 / warpSize; wave++)
            sum += waves[wave];
        partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void final_sum(const float* partial, float* y, int parts)
{
    float sum = 0.0f;
    if (threadIdx.x >= warpSize)
        return;
    for (int i = threadIdx.x; i < parts; i += warpSize)
        sum += partial[i];
    sum = wave_sum(sum);
    if (threadIdx.x == 0)
        y[0] = sum;
}
