// A tile in LDS without padding: the columns that are read lie in one bank.
// amdkernel: launch transpose grid=[ceil_div(cols, 32), ceil_div(rows, 32)] block=[32, 8]
#include <hip/hip_runtime.h>

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols)
{
    __shared__ float tile[32][32];
    int col0 = blockIdx.x * 32, row0 = blockIdx.y * 32;
    for (int r = threadIdx.y; r < 32; r += 8)
        if (row0 + r < rows && col0 + threadIdx.x < cols)
            tile[r][threadIdx.x] = x[(size_t)(row0 + r) * cols + col0 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8)
        if (col0 + r < cols && row0 + threadIdx.x < rows)
            y[(size_t)(col0 + r) * rows + row0 + threadIdx.x] = tile[threadIdx.x][r];
}
