// One workgroup per row, two elements per access; an odd row falls back to single ones.
// amdkernel: launch rmsnorm grid=[rows] block=[256]
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

__device__ float block_sum(float v)
{
    __shared__ float parts[8];  // enough for waves of 32 lanes
    for (int step = warpSize / 2; step > 0; step >>= 1)
        v += __shfl_xor(v, step);
    if (threadIdx.x % warpSize == 0)
        parts[threadIdx.x / warpSize] = v;
    __syncthreads();
    v = 0.0f;
    for (int wave = 0; wave < 256 / warpSize; wave++)
        v += parts[wave];
    return v;
}

extern "C" __global__ __launch_bounds__(256) void rmsnorm(const __half* __restrict__ x,
                                                          const __half* __restrict__ weight, __half* __restrict__ y,
                                                          int rows, int cols, float eps)
{
    const __half* in = x + (size_t)blockIdx.x * cols;
    __half* out = y + (size_t)blockIdx.x * cols;
    float sum = 0.0f;
    if (cols % 2 == 0) {
        const __half2* pairs = (const __half2*)in;
        for (int c = threadIdx.x; c < cols / 2; c += 256) {
            float2 v = __half22float2(pairs[c]);
            sum += v.x * v.x + v.y * v.y;
        }
        float scale = rsqrtf(block_sum(sum) / cols + eps);
        for (int c = threadIdx.x; c < cols / 2; c += 256) {
            float2 v = __half22float2(pairs[c]), w = __half22float2(((const __half2*)weight)[c]);
            ((__half2*)out)[c] = __floats2half2_rn(v.x * scale * w.x, v.y * scale * w.y);
        }
    } else {
        for (int c = threadIdx.x; c < cols; c += 256) {
            float v = __half2float(in[c]);
            sum += v * v;
        }
        float scale = rsqrtf(block_sum(sum) / cols + eps);
        for (int c = threadIdx.x; c < cols; c += 256)
            out[c] = __float2half(__half2float(in[c]) * scale * __half2float(weight[c]));
    }
}
