// A loop of compare and swap on the 32 bits of a pair.
// amdkernel: launch clear grid=[ceil_div(bins, 256)] block=[256] args=[y, bins]
// amdkernel: launch scatter grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

using half2v = __attribute__((ext_vector_type(2))) _Float16;

extern "C" __global__ void clear(unsigned* y, int bins)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < bins)
        y[i] = 0;
}

extern "C" __global__ void scatter(const half2v* x, const int* index, unsigned* y, int n, int bins)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    unsigned* at = y + index[i];
    unsigned seen = __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
    do {
        wanted = __builtin_bit_cast(unsigned, __builtin_bit_cast(half2v, seen) + x[i]);
    } while (!__hip_atomic_compare_exchange_strong(at, &seen, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
}
