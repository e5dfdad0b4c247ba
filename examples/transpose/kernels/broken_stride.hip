// Broken: the output is indexed with the input's row length; right for square matrices only.
// amdkernel: launch transpose grid=[ceil_div(cols, 64), ceil_div(rows, 4)] block=[64, 4]
#include <hip/hip_runtime.h>

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols)
{
    int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (r < rows && c < cols)
        y[(size_t)c * cols + r] = x[(size_t)r * cols + c];
}
