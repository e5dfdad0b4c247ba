// A thread a query; tiles of 32 keys in LDS; one pass with a running maximum.
// amdkernel: launch attention grid=[ceil_div(n, 64), heads] block=[64]
#include <hip/hip_runtime.h>

constexpr int D = 32, TILE = 32;

extern "C" __global__ __launch_bounds__(64) void attention(const float* __restrict__ q, const float* __restrict__ k,
                                                           const float* __restrict__ v, float* __restrict__ o, int heads,
                                                           int n)
{
    __shared__ float keys[TILE][D], values[TILE][D];
    size_t head = (size_t)blockIdx.y * n * D;
    int query = blockIdx.x * 64 + threadIdx.x;
    float mine[D], acc[D] = {}, top = -1e30f, sum = 0.0f;
#pragma unroll
    for (int d = 0; d < D; d++)
        mine[d] = query < n ? q[head + (size_t)query * D + d] * 0.17677669f : 0.0f;  // 1 / sqrt(D)

    for (int first = 0; first < n; first += TILE) {
        int count = min(TILE, n - first);
        for (int i = threadIdx.x; i < count * D; i += 64) {
            keys[i / D][i % D] = k[head + (size_t)first * D + i];
            values[i / D][i % D] = v[head + (size_t)first * D + i];
        }
        __syncthreads();
        float score[TILE], higher = top;
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            score[i] = -1e30f;
            if (i < count) {
                score[i] = 0.0f;
#pragma unroll
                for (int d = 0; d < D; d++)
                    score[i] += mine[d] * keys[i][d];
            }
            higher = fmaxf(higher, score[i]);
        }
        float factor = __expf(top - higher);
        top = higher;
        sum *= factor;
#pragma unroll
        for (int d = 0; d < D; d++)
            acc[d] *= factor;
#pragma unroll
        for (int i = 0; i < TILE; i++)
            if (i < count) {
                float p = __expf(score[i] - top);
                sum += p;
#pragma unroll
                for (int d = 0; d < D; d++)
                    acc[d] += p * values[i][d];
            }
        __syncthreads();
    }
    if (query < n)
#pragma unroll
        for (int d = 0; d < D; d++)
            o[head + (size_t)query * D + d] = acc[d] / sum;
}
