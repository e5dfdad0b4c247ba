// Scores in memory: three launches.
// amdkernel: workspace s dtype=f32 shape=[heads, n, n]
// amdkernel: launch scores grid=[ceil_div(n, 64), n, heads] block=[64] args=[q, k, s, n]
// amdkernel: launch softmax grid=[ceil_div(heads * n, 64)] block=[64] args=[s, heads * n, n]
// amdkernel: launch values grid=[n, heads] block=[32] args=[s, v, o, n]
#include <hip/hip_runtime.h>

constexpr int D = 32;

extern "C" __global__ void scores(const float* q, const float* k, float* s, int n)
{
    int key = blockIdx.x * 64 + threadIdx.x, query = blockIdx.y, head = blockIdx.z;
    if (key >= n)
        return;
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum += q[((size_t)head * n + query) * D + d] * k[((size_t)head * n + key) * D + d];
    s[((size_t)head * n + query) * n + key] = sum * 0.17677669f;
}

extern "C" __global__ void softmax(float* s, int rows, int n)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;
    float* at = s + (size_t)row * n;
    float top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < n; i++)
        top = fmaxf(top, at[i]);
    for (int i = 0; i < n; i++)
        sum += __expf(at[i] - top);
    for (int i = 0; i < n; i++)
        at[i] = __expf(at[i] - top) / sum;
}

extern "C" __global__ void values(const float* s, const float* v, float* o, int n)
{
    int query = blockIdx.x, head = blockIdx.y, d = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += s[((size_t)head * n + query) * n + i] * v[((size_t)head * n + i) * D + d];
    o[((size_t)head * n + query) * D + d] = sum;
}
