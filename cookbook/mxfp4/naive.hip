// A table of the magnitudes, a number a thread.
// amdkernel: launch decode grid=[ceil_div(blocks * 32, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void decode(const unsigned char* x, const unsigned char* scale, float* y, int blocks)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= blocks * 32)
        return;
    int v = i % 2 ? x[i / 2] >> 4 : x[i / 2] & 15;
    int exponent = v >> 1 & 3;
    float magnitude = exponent ? ldexpf(2 + (v & 1), exponent - 2) : 0.5f * (v & 1);
    y[i] = ldexpf(v & 8 ? -magnitude : magnitude, scale[i / 32] - 127);
}
