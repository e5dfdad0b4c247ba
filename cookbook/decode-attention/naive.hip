// A wave a head, one key after the other.
// amdkernel: launch attention grid=[heads] block=[64]
#include <hip/hip_runtime.h>

constexpr int D = 64;

extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* o, int heads, int n)
{
    __shared__ float parts[D];
    int head = blockIdx.x, d = threadIdx.x;
    float top = -1e30f, sum = 0.0f, acc = 0.0f;
    for (int i = 0; i < n; i++) {
        size_t at = ((size_t)head * n + i) * D + d;
        parts[d] = q[head * D + d] * k[at] * 0.125f;
        __syncthreads();
        float score = 0.0f;
        for (int e = 0; e < D; e++)
            score += parts[e];
        __syncthreads();
        float higher = fmaxf(top, score), factor = __expf(top - higher), p = __expf(score - higher);
        sum = sum * factor + p;
        acc = acc * factor + p * v[at];
        top = higher;
    }
    o[head * D + d] = acc / sum;
}
