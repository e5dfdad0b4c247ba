// Broken: written for waves of 32 lanes; on 64 the two halves end with different sums.
// amdkernel: launch softmax_rows grid=[rows] block=[64]
#include <hip/hip_runtime.h>

extern "C" __global__ void softmax_rows(const float* x, float* y, int rows, int cols)
{
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    float top = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += 64)
        top = fmaxf(top, in[c]);
    for (int step = 32; step > 0; step >>= 1)
        top = fmaxf(top, __shfl_xor(top, step));

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += expf(in[c] - top);
    for (int step = 16; step > 0; step >>= 1)
        sum += __shfl_xor(sum, step);

    for (int c = threadIdx.x; c < cols; c += 64)
        out[c] = expf(in[c] - top) / sum;
}
