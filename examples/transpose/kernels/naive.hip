// Neighbouring lanes store a whole row apart: 64 cache lines per store.
// amdkernel: launch transpose grid=[ceil_div(cols, 64), ceil_div(rows, 4)] block=[64, 4]
#include <hip/hip_runtime.h>

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols)
{
    int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (r < rows && c < cols)
        y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}
