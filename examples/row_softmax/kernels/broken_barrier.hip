// Broken: no __syncthreads() between the waves' partial results and their use.
// amdkernel: launch softmax_rows grid=[rows] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void softmax_rows(const float* x, float* y, int rows, int cols)
{
    __shared__ float part[256];
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    float top = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += 256)
        top = fmaxf(top, in[c]);
    part[threadIdx.x] = top;
    for (int i = 0; i < 256; i++)
        top = fmaxf(top, part[i]);

    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += expf(in[c] - top);
    part[threadIdx.x] = sum;
    sum = 0.0f;
    for (int i = 0; i < 256; i++)
        sum += part[i];

    for (int c = threadIdx.x; c < cols; c += 256)
        out[c] = expf(in[c] - top) / sum;
}
