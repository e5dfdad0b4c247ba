// A byte load for each pair of weights.
// amdkernel: launch gemv grid=[ceil_div(rows, 64)] block=[64]
#include <hip/hip_runtime.h>

extern "C" __global__ void gemv(const unsigned char* w, const float* scale, const _Float16* x, float* y, int rows, int groups)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;
    float total = 0.0f;
    for (int c = 0; c < groups * 32; c++) {
        int packed = w[((size_t)row * groups * 32 + c) / 2];
        int v = c % 2 ? packed >> 4 : packed & 15;
        total += (v - 8) * scale[(size_t)row * groups + c / 32] * (float)x[c];
    }
    y[row] = total;
}
