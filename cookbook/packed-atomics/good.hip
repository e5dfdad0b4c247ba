// One instruction for a pair.
// amdkernel: launch clear grid=[ceil_div(bins, 256)] block=[256] args=[y, bins]
// amdkernel: launch scatter grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

using half2v = __attribute__((ext_vector_type(2))) _Float16;
using Global = __attribute__((address_space(1))) half2v*;

extern "C" __global__ __launch_bounds__(256) void clear(unsigned* y, int bins)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < bins)
        y[i] = 0;
}

extern "C" __global__ __launch_bounds__(256) void scatter(const half2v* __restrict__ x, const int* __restrict__ index,
                                                          half2v* y, int n, int bins)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        __builtin_amdgcn_global_atomic_fadd_v2f16((Global)(y + index[i]), x[i]);
}
