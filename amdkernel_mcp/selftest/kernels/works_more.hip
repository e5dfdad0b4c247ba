// The plain kernel after 4200: five percent more work.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

#ifndef ROUNDS
#define ROUNDS 4200
#endif

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i], work = v;
    for (int round = 0; round < ROUNDS; round++)
        work = fmaf(work, 0.999f, 0.001f);
    y[i] = a * v + 0 * work;
}
