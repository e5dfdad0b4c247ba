// A workgroup a row, a tree in LDS with a barrier for each step.
// amdkernel: launch row_sum grid=[rows] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols)
{
    __shared__ float part[256];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += x[(size_t)blockIdx.x * cols + c];
    part[threadIdx.x] = sum;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = part[0];
}
