// One launch: the value stays in a register.
// amdkernel: launch scale_positive grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ __launch_bounds__(256) void scale_positive(const float* __restrict__ x, float* __restrict__ y, int n,
                                                                 float factor)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float t = x[i] * factor + 1.0f;
        y[i] = t > 0.0f ? t : 0.0f;
    }
}
