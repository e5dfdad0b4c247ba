// Broken: the tile is read before all waves have filled it.
// amdkernel: launch transpose grid=[ceil_div(cols, 64), ceil_div(rows, 64)] block=[64, 4]
#include <hip/hip_runtime.h>

constexpr int TILE = 64;

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int c = blockIdx.x * TILE + threadIdx.x;
    for (int i = threadIdx.y; i < TILE; i += 4) {
        int r = blockIdx.y * TILE + i;
        if (r < rows && c < cols)
            tile[i][threadIdx.x] = x[(size_t)r * cols + c];
    }
    int r = blockIdx.y * TILE + threadIdx.x;
    for (int i = threadIdx.y; i < TILE; i += 4) {
        int column = blockIdx.x * TILE + i;
        if (r < rows && column < cols)
            y[(size_t)column * rows + r] = tile[threadIdx.x][i];
    }
}
