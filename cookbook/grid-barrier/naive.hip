// Two launches: the data are read in both.
// amdkernel: workspace parts dtype=f32 shape=[ceil_div(n, 1024)]
// amdkernel: launch sums grid=[ceil_div(n, 1024)] block=[256] args=[x, parts, n]
// amdkernel: launch centre grid=[ceil_div(n, 1024)] block=[256] args=[x, parts, y, n]
#include <hip/hip_runtime.h>

extern "C" __global__ void sums(const float* x, float* parts, int n)
{
    __shared__ float shared[256];
    float sum = 0.0f;
    for (int e = 0; e < 4; e++) {
        int i = blockIdx.x * 1024 + e * 256 + threadIdx.x;
        sum += i < n ? x[i] : 0.0f;
    }
    shared[threadIdx.x] = sum;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            shared[threadIdx.x] += shared[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x] = shared[0];
}

extern "C" __global__ void centre(const float* x, const float* parts, float* y, int n)
{
    float mean = 0.0f;
    for (int b = 0; b < gridDim.x; b++)
        mean += parts[b];
    mean /= n;
    for (int e = 0; e < 4; e++) {
        int i = blockIdx.x * 1024 + e * 256 + threadIdx.x;
        if (i < n)
            y[i] = x[i] - mean;
    }
}
