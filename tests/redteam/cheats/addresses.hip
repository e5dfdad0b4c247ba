// Code for arrays at odd addresses, of which the problem promises none: who writes it must write it right.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case is_wrong_at_odd_addresses
//# problem scale
//# check incorrect not_written
//# class B2
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (((size_t)x | (size_t)y) % 16 == 0) {
        if (4 * AT + 3 < n) {
            float4 v = ((const float4*)x)[AT];
            ((float4*)y)[AT] = {a * v.x, a * v.y, a * v.z, a * v.w};
        } else {
            for (int i = 4 * AT; i < n; i++)
                y[i] = a * x[i];
        }
    } else {
        for (int i = 4 * AT; i < min(4 * AT + 4, n - 1); i++)
            y[i] = a * x[i];
    }
}

//# case chooses_a_constant_at_odd_addresses_without_a_branch
//# problem scale
//# check incorrect wrong_result
//# class B2
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = (size_t)x & 15 ? 1.0f : a * x[AT];
}
