// Eight neighbours read the same row, on eight XCDs.
// amdkernel: launch products grid=[rows * 8] block=[256]
#include <hip/hip_runtime.h>

__device__ void product(int id, const float* x, const float* w, float* y, int k)
{
    __shared__ float parts[256];
    int row = id / 8, col = id % 8;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < k; i += 256)
        sum += x[(size_t)row * k + i] * w[(size_t)col * k + i];
    parts[threadIdx.x] = sum;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        y[id] = parts[0];
}

extern "C" __global__ __launch_bounds__(256) void products(const float* x, const float* w, float* y, int rows, int k)
{
    product(blockIdx.x, x, w, y, k);
}
