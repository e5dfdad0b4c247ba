// Epsilons as they are meant, and other ways to the same variance.
#include <hip/hip_runtime.h>

__device__ float all_lanes(float sum)
{
    for (int step = 32; step; step /= 2)
        sum += __shfl_xor(sum, step);
    return sum;
}

//# case plain_normed
//# problem normed
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
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)row[c] - mean) * rsqrtf(variance + 1e-5f));
}

//# case normalises_by_a_division
//# problem normed
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
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)row[c] - mean) / __builtin_sqrtf(variance + 1e-5f));
}

//# case finds_the_variance_in_one_pass
//# problem normed
// amdkernel: launch k grid=[rows] block=[64]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int rows, int cols)
{
    const _Float16* row = x + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += 64) {
        float v = row[c];
        sum += v;
        squares = fmaf(v, v, squares);
    }
    float mean = all_lanes(sum) / cols;
    float scale = rsqrtf(fmaxf(all_lanes(squares) / cols - mean * mean, 0.0f) + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 64)
        y[(size_t)blockIdx.x * cols + c] = (_Float16)(((float)row[c] - mean) * scale);
}
