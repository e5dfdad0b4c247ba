// Two launches that pass an array through memory.
// amdkernel: workspace t dtype=f32 shape=[n]
// amdkernel: launch scale grid=[ceil_div(n, 256)] block=[256] args=[x, t, n, factor]
// amdkernel: launch positive grid=[ceil_div(n, 256)] block=[256] args=[t, y, n]
#include <hip/hip_runtime.h>

extern "C" __global__ void scale(const float* x, float* t, int n, float factor)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        t[i] = x[i] * factor + 1.0f;
}

extern "C" __global__ void positive(const float* t, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = t[i] > 0.0f ? t[i] : 0.0f;
}
