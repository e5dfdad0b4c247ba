// Right code for arrays at odd addresses, or none where the problem promises none.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case peels_the_elements_before_the_first_aligned_one
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 1024) + 1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int head = ((16 - (size_t)x % 16) % 16) / 4;
    head = head < n ? head : n;
    if (AT < head)
        y[AT] = a * x[AT];
    int i = head + 4 * AT;
    if (i + 3 < n) {
        float4 v = *(const float4*)(x + i);
        if (((size_t)(y + i) & 15) == 0) {
            *(float4*)(y + i) = {a * v.x, a * v.y, a * v.z, a * v.w};
        } else {
            y[i] = a * v.x;
            y[i + 1] = a * v.y;
            y[i + 2] = a * v.z;
            y[i + 3] = a * v.w;
        }
    } else {
        for (; i < n; i++)
            y[i] = a * x[i];
    }
}

//# case relies_on_the_promised_addresses_of_all_but_one_array
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if ((size_t)x % 16 == 0 && 4 * AT + 3 < n) {
        float4 v = ((const float4*)x)[AT];
        ((float4*)__builtin_assume_aligned(y, 16))[AT] = {a * v.x, a * v.y, a * v.z, a * v.w};
    } else {
        for (int i = 4 * AT; i < min(4 * AT + 4, n); i++)
            y[i] = a * x[i];
    }
}

//# case rounds_addresses_down_as_the_promise_allows
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    const float4* wide = (const float4*)((size_t)x & ~(size_t)15);
    if (n == 12345678)
        y[0] = 1;
    if (4 * AT + 3 < n) {
        float4 v = wide[AT];
        ((float4*)y)[AT] = {a * v.x, a * v.y, a * v.z, a * v.w};
    } else {
        for (int i = 4 * AT; i < n; i++)
            y[i] = a * x[i];
    }
}
