// A row belongs to LANES threads of one wave, and a workgroup has ROWS rows: `amdkernel tune` finds both.
// amdkernel: tune LANES=[4,16,32,64] ROWS=[1,4,16]
// amdkernel: launch softmax_rows grid=[ceil_div(rows, ROWS)] block=[LANES * ROWS]
#include <hip/hip_runtime.h>

__device__ float row_max(float v)
{
    for (int step = LANES / 2; step > 0; step >>= 1)
        v = fmaxf(v, __shfl_xor(v, step, LANES));
    return v;
}

__device__ float row_sum(float v)
{
    for (int step = LANES / 2; step > 0; step >>= 1)
        v += __shfl_xor(v, step, LANES);
    return v;
}

extern "C" __global__ __launch_bounds__(LANES * ROWS) void softmax_rows(const float* __restrict__ x,
                                                                        float* __restrict__ y, int rows, int cols)
{
    int lane = threadIdx.x % LANES, row = blockIdx.x * ROWS + threadIdx.x / LANES;
    if (row >= rows)
        return;
    const float* in = x + (size_t)row * cols;
    float* out = y + (size_t)row * cols;
    float top = -INFINITY;
    for (int c = lane; c < cols; c += LANES)
        top = fmaxf(top, in[c]);
    top = row_max(top);
    float sum = 0.0f;
    for (int c = lane; c < cols; c += LANES)
        sum += __expf(in[c] - top);
    float scale = 1.0f / row_sum(sum);
    for (int c = lane; c < cols; c += LANES)
        out[c] = __expf(in[c] - top) * scale;
}
