// Four elements per thread in 16-byte accesses: a quarter of the memory instructions.
// amdkernel: launch vector_add grid=[ceil_div(n, 1024)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float* __restrict__ x, const float* __restrict__ y,
                                      float* __restrict__ z, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 a = *(const float4*)(x + i), b = *(const float4*)(y + i);
        *(float4*)(z + i) = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    } else {
        for (; i < n; i++)
            z[i] = x[i] + y[i];
    }
}
