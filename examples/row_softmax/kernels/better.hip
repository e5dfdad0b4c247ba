// One workgroup per row; the row stays in registers between the passes, so memory is read once.
// amdkernel: launch softmax_rows grid=[rows] block=[256]
#include <hip/hip_runtime.h>

constexpr int WAVES = 8;  // at most: on RDNA a wave has 32 lanes
constexpr int HELD = 4;  // elements per thread in registers: rows up to 1024; longer ones are read again

__device__ float wave_max(float v)
{
    for (int step = warpSize / 2; step > 0; step >>= 1)
        v = fmaxf(v, __shfl_xor(v, step));
    return v;
}

__device__ float wave_sum(float v)
{
    for (int step = warpSize / 2; step > 0; step >>= 1)
        v += __shfl_xor(v, step);
    return v;
}

extern "C" __global__ __launch_bounds__(256) void softmax_rows(const float* __restrict__ x, float* __restrict__ y,
                                                               int rows, int cols)
{
    __shared__ float tops[WAVES], sums[WAVES];
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize, waves = 256 / warpSize;

    float held[HELD], top = -INFINITY;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int c = threadIdx.x + 256 * i;
        held[i] = c < cols ? in[c] : -INFINITY;
        top = fmaxf(top, held[i]);
    }
    for (int c = threadIdx.x + 256 * HELD; c < cols; c += 256)
        top = fmaxf(top, in[c]);
    top = wave_max(top);
    if (lane == 0)
        tops[wave] = top;
    __syncthreads();
    for (int w = 0; w < waves; w++)
        top = fmaxf(top, tops[w]);

    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        held[i] = __expf(held[i] - top);
        sum += held[i];
    }
    for (int c = threadIdx.x + 256 * HELD; c < cols; c += 256)
        sum += __expf(in[c] - top);
    sum = wave_sum(sum);
    if (lane == 0)
        sums[wave] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < waves; w++)
        sum += sums[w];
    float scale = 1.0f / sum;

#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int c = threadIdx.x + 256 * i;
        if (c < cols)
            out[c] = held[i] * scale;
    }
    for (int c = threadIdx.x + 256 * HELD; c < cols; c += 256)
        out[c] = __expf(in[c] - top) * scale;
}
