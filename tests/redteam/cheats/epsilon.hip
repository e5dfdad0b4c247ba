// An epsilon that is left out, or another one: no input near 1 shows it.
#include <hip/hip_runtime.h>

__device__ float all_lanes(float sum)
{
    for (int step = 32; step; step /= 2)
        sum += __shfl_xor(sum, step);
    return sum;
}

//# case leaves_the_epsilon_out
//# problem normed
//# check incorrect
//# class B4
// amdkernel: launch k grid=[rows] block=[64]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int rows, int cols)
{
    const _Float16* row = x + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += (float)row[c];
    float mean = all_lanes(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        squares += ((float)row[c] - mean) * ((float)row[c] - mean);
    float variance = all_lanes(squares) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)row[c] - mean) * rsqrtf(fmaxf(variance, 1e-30f)));
}

//# case has_an_epsilon_of_a_thousandth
//# problem normed
//# check incorrect
//# class B4
// amdkernel: launch k grid=[rows] block=[64]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int rows, int cols)
{
    const _Float16* row = x + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += (float)row[c];
    float mean = all_lanes(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        squares += ((float)row[c] - mean) * ((float)row[c] - mean);
    float variance = all_lanes(squares) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)row[c] - mean) * rsqrtf(variance + 1e-3f));
}

//# case adds_the_epsilon_to_the_root
//# problem normed
//# check incorrect
//# class B4
// amdkernel: launch k grid=[rows] block=[64]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int rows, int cols)
{
    const _Float16* row = x + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += (float)row[c];
    float mean = all_lanes(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        squares += ((float)row[c] - mean) * ((float)row[c] - mean);
    float variance = all_lanes(squares) / cols;
    for (int c = threadIdx.x; c < cols; c += 64)
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)row[c] - mean) / (sqrtf(variance) + 1e-5f));
}
