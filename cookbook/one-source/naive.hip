// A byte at a time.
// amdkernel: launch dot grid=[ceil_div(rows, 64)] block=[64]
#include <hip/hip_runtime.h>

extern "C" __global__ void dot(const signed char* a, const signed char* b, int* y, int rows, int words)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0;
    for (int c = 0; c < words * 4; c++)
        sum += a[(size_t)row * words * 4 + c] * b[c];
    y[row] = sum;
}
