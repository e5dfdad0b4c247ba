// One thread per row.
// amdkernel: launch rmsnorm grid=[ceil_div(rows, 64)] block=[64]
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void rmsnorm(const __half* x, const __half* weight, __half* y, int rows, int cols, float eps)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const __half* in = x + (size_t)row * cols;
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) {
        float v = __half2float(in[c]);
        sum += v * v;
    }
    float scale = rsqrtf(sum / cols + eps);
    for (int c = 0; c < cols; c++)
        y[(size_t)row * cols + c] = __float2half(__half2float(in[c]) * scale * __half2float(weight[c]));
}
