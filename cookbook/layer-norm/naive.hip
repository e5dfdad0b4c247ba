// Three reads of the row, one f16 a lane.
// amdkernel: launch layer_norm grid=[rows] block=[64]
#include <hip/hip_runtime.h>

__device__ float block_sum(float v, float* shared)
{
    __syncthreads();
    shared[threadIdx.x] = v;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 64; i++)
        sum += shared[i];
    return sum;
}

extern "C" __global__ void layer_norm(const _Float16* x, _Float16* y, int rows, int cols)
{
    __shared__ float shared[64];
    const _Float16* in = x + (size_t)blockIdx.x * cols;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += (float)in[c];
    float mean = block_sum(sum, shared) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        squares += ((float)in[c] - mean) * ((float)in[c] - mean);
    float scale = rsqrtf(block_sum(squares, shared) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 64)
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)in[c] - mean) * scale);
}
