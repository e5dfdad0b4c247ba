// One thread per row, three passes over memory; neighbouring lanes read addresses a whole row apart.
// amdkernel: launch softmax_rows grid=[ceil_div(rows, 64)] block=[64]
#include <hip/hip_runtime.h>

extern "C" __global__ void softmax_rows(const float* x, float* y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float* in = x + (size_t)row * cols;
    float* out = y + (size_t)row * cols;
    float top = -INFINITY;
    for (int c = 0; c < cols; c++)
        top = fmaxf(top, in[c]);
    float sum = 0.0f;
    for (int c = 0; c < cols; c++)
        sum += expf(in[c] - top);
    for (int c = 0; c < cols; c++)
        out[c] = expf(in[c] - top) / sum;
}
