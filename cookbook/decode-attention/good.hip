// Keys in 8 parts; then the parts are joined.
// amdkernel: workspace acc dtype=f32 shape=[heads, 8, 64]
// amdkernel: workspace tops dtype=f32 shape=[heads, 8]
// amdkernel: workspace sums dtype=f32 shape=[heads, 8]
// amdkernel: launch part grid=[8, heads] block=[64] args=[q, k, v, acc, tops, sums, n]
// amdkernel: launch join grid=[heads] block=[64] args=[acc, tops, sums, o]
#include <hip/hip_runtime.h>

constexpr int D = 64, PARTS = 8;

extern "C" __global__ __launch_bounds__(64) void part(const float* __restrict__ q, const float* __restrict__ k,
                                                      const float* __restrict__ v, float* __restrict__ acc,
                                                      float* __restrict__ tops, float* __restrict__ sums, int n)
{
    __shared__ float scores[64];
    int head = blockIdx.y, slot = head * PARTS + blockIdx.x, lane = threadIdx.x;
    int length = (n + PARTS - 1) / PARTS, first = blockIdx.x * length, last = min(n, first + length);
    float top = -1e30f, sum = 0.0f, mine = 0.0f;
    for (int base = first; base < last; base += 64) {
        int count = min(64, last - base);
        float score = -1e30f;  // of the key base + lane: 16 bytes a load, no reduction over lanes
        if (lane < count) {
            const float4* key = (const float4*)(k + ((size_t)head * n + base + lane) * D);
            const float4* query = (const float4*)(q + head * D);
            score = 0.0f;
            for (int i = 0; i < D / 4; i++)
                score += query[i].x * key[i].x + query[i].y * key[i].y + query[i].z * key[i].z + query[i].w * key[i].w;
            score *= 0.125f;  // 1 / sqrt(D)
        }
        __syncthreads();  // the scores of the step before have been read
        scores[lane] = score;
        __syncthreads();
        float higher = top;
        for (int i = 0; i < count; i++)
            higher = fmaxf(higher, scores[i]);
        float factor = __expf(top - higher);
        top = higher;
        sum *= factor;
        mine *= factor;
        for (int i = 0; i < count; i++) {  // now the lane is a column of V
            float p = __expf(scores[i] - top);
            sum += p;
            mine += p * v[((size_t)head * n + base + i) * D + lane];
        }
    }
    acc[slot * D + lane] = mine;
    if (lane == 0) {
        tops[slot] = top;
        sums[slot] = sum;
    }
}

extern "C" __global__ __launch_bounds__(64) void join(const float* __restrict__ acc, const float* __restrict__ tops,
                                                      const float* __restrict__ sums, float* __restrict__ o)
{
    int head = blockIdx.x, lane = threadIdx.x;
    float top = -1e30f, sum = 0.0f, total = 0.0f;
    for (int p = 0; p < PARTS; p++)
        top = fmaxf(top, tops[head * PARTS + p]);
    for (int p = 0; p < PARTS; p++) {
        float factor = __expf(tops[head * PARTS + p] - top);
        sum += sums[head * PARTS + p] * factor;
        total += acc[(head * PARTS + p) * D + lane] * factor;
    }
    o[head * D + lane] = total / sum;
}
