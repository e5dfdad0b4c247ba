// A condition for each neighbour.
// amdkernel: launch blur grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void blur(const float* x, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int d = -2; d <= 2; d++)
        if (i + d >= 0 && i + d < n)
            sum += x[i + d];
    y[i] = sum;
}
