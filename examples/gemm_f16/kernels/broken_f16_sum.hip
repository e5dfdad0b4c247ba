// Broken: sums in f16, which loses about three digits over k.
// amdkernel: launch gemm grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void gemm(const __half* a, const __half* b, float* c, int m, int n, int k)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || col >= n)
        return;
    __half sum = __float2half(0.0f);
    for (int i = 0; i < k; i++)
        sum = __hfma(a[(size_t)row * k + i], b[(size_t)i * n + col], sum);
    c[(size_t)row * n + col] = __half2float(sum);
}
