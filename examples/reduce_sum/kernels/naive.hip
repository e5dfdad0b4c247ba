// One workgroup does it all: on an MI300X 303 of 304 compute units idle.
// amdkernel: launch reduce_sum grid=[1] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void reduce_sum(const float* x, float* y, int n)
{
    __shared__ float part[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[0] = part[0];
}
