// The row stays in registers: four elements a thread, up to 1024 columns.
// amdkernel: launch softmax grid=[rows] block=[256]
#include <hip/hip_runtime.h>

constexpr int HELD = 4, WAVES = 8;  // at most 8: a wave has 32 lanes on RDNA

__device__ float wave_max(float v)
{
    for (int step = warpSize / 2; step > 0; step /= 2)
        v = fmaxf(v, __shfl_xor(v, step));
    return v;
}

__device__ float wave_sum(float v)
{
    for (int step = warpSize / 2; step > 0; step /= 2)
        v += __shfl_xor(v, step);
    return v;
}

extern "C" __global__ __launch_bounds__(256) void softmax(const float* __restrict__ x, float* __restrict__ y, int rows,
                                                          int cols)
{
    __shared__ float tops[WAVES], sums[WAVES];
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    int wave = threadIdx.x / warpSize, waves = 256 / warpSize;

    float held[HELD], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int c = threadIdx.x + 256 * i;
        held[i] = c < cols ? in[c] : -INFINITY;
        top = fmaxf(top, held[i]);
    }
    tops[wave] = wave_max(top);
    __syncthreads();
    for (int w = 0; w < waves; w++)
        top = fmaxf(top, tops[w]);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        held[i] = __expf(held[i] - top);
        sum += held[i];
    }
    sums[wave] = wave_sum(sum);
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < waves; w++)
        sum += sums[w];
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int c = threadIdx.x + 256 * i;
        if (c < cols)
            out[c] = held[i] / sum;
    }
}
