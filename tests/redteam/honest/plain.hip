// The plain kernel of each problem: what others are compared with, and the first that must be correct.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case plain_scale
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT];
}

//# case plain_total
//# problem total
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case plain_increment
//# problem increment
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(int* x, int n)
{
    if (AT < n)
        x[AT] = 2 * x[AT] + 1;
}

//# case plain_gathered
//# problem gathered
//# check correct unread_input
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, const int* at, float* y, int m, int n)
{
    if (AT < n)
        y[AT] = x[at[AT]];
}

//# case plain_big
//# problem big
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT];
}
