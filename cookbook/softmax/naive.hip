// Reads the row for the maximum, for the sum and for the result.
// amdkernel: launch softmax grid=[rows] block=[64]
#include <hip/hip_runtime.h>

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols)
{
    __shared__ float shared[64];
    const float* in = x + (size_t)blockIdx.x * cols;
    float top = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64)
        top = fmaxf(top, in[c]);
    shared[threadIdx.x] = top;
    __syncthreads();
    for (int i = 0; i < 64; i++)
        top = fmaxf(top, shared[i]);
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += expf(in[c] - top);
    shared[threadIdx.x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < 64; i++)
        sum += shared[i];
    for (int c = threadIdx.x; c < cols; c += 64)
        y[(size_t)blockIdx.x * cols + c] = expf(in[c] - top) / sum;
}
