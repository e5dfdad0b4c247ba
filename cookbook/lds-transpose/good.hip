// The same with an XOR swizzle: rows and columns both lie in 32 different banks.
// amdkernel: launch transpose grid=[ceil_div(cols, 32), ceil_div(rows, 32)] block=[32, 8]
#include <hip/hip_runtime.h>

__device__ int place(int r, int c) { return r * 32 + (c ^ r); }

extern "C" __global__ __launch_bounds__(256) void transpose(const float* __restrict__ x, float* __restrict__ y, int rows,
                                                            int cols)
{
    __shared__ float tile[32 * 32];
    int col0 = blockIdx.x * 32, row0 = blockIdx.y * 32, across = threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8)
        if (row0 + r < rows && col0 + across < cols)
            tile[place(r, across)] = x[(size_t)(row0 + r) * cols + col0 + across];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8)  // row r of the output is column r of the tile
        if (col0 + r < cols && row0 + across < rows)
            y[(size_t)(col0 + r) * rows + row0 + across] = tile[place(across, r)];
}
