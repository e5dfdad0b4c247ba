// Uses what it loads before it has arrived.
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    const float* from = x + i;
    float v;
    asm volatile("global_load_dword %0, %1, off\n\tv_mul_f32 %0, %2, %0" : "=&v"(v) : "v"(from), "v"(a) : "memory");
    y[i] = v;
}
