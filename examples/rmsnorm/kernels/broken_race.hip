// Broken: every wave adds to the shared sum without an atomic, and no wave waits for the others.
// amdkernel: launch rmsnorm grid=[rows] block=[256]
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void rmsnorm(const __half* x, const __half* weight, __half* y, int rows, int cols, float eps)
{
    __shared__ float total;
    const __half* in = x + (size_t)blockIdx.x * cols;
    if (threadIdx.x == 0)
        total = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256) {
        float v = __half2float(in[c]);
        sum += v * v;
    }
    total += sum;
    __syncthreads();
    float scale = rsqrtf(total / cols + eps);
    for (int c = threadIdx.x; c < cols; c += 256)
        y[(size_t)blockIdx.x * cols + c] = __float2half(__half2float(in[c]) * scale * __half2float(weight[c]));
}
