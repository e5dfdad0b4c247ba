"""CUDA sources whose host launches several kernels, with arrays between them."""

SUM_IN_TWO = """#include <cuda_runtime.h>
#include <stdio.h>
#define B 256
__global__ void parts(const float* x, float* part, int n)
{
    __shared__ float s[B];
    int t = threadIdx.x, i = blockIdx.x * B + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = B / 2; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) part[blockIdx.x] = s[0];
}
__global__ void finish(const float* part, float* out, int blocks)
{
    float sum = 0;
    for (int i = 0; i < blocks; i++) sum += part[i];
    if (threadIdx.x == 0) out[0] = sum;
}
int main()
{
    const int N = 10000;
    static float h[N];
    float r, *d_x, *d_part, *d_out;
    for (int i = 0; i < N; i++) h[i] = i % 7;
    int blocks = (N + B - 1) / B;
    cudaMalloc(&d_x, N * sizeof(float)); cudaMalloc(&d_part, blocks * sizeof(float)); cudaMalloc(&d_out, sizeof(float));
    cudaMemcpy(d_x, h, sizeof h, cudaMemcpyHostToDevice);
    parts<<<blocks, B>>>(d_x, d_part, N);
    finish<<<1, 32>>>(d_part, d_out, blocks);
    cudaMemcpy(&r, d_out, sizeof r, cudaMemcpyDeviceToHost);
    printf("%g\\n", r);
}
"""
SOFTMAX_IN_THREE = """#include <torch/extension.h>
#include <cuda_runtime.h>
#include <float.h>
__global__ void row_max(const float* in, float* most, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = -FLT_MAX;
    for (int c = 0; c < cols; c++) m = fmaxf(m, in[r * cols + c]);
    most[r] = m;
}
__global__ void row_sum(const float* in, const float* most, float* sums, int rows, int cols)
{
    int r = blockIdx.x, c = threadIdx.x;
    float s = 0;
    for (; c < cols; c += blockDim.x) s += expf(in[r * cols + c] - most[r]);
    atomicAdd(&sums[r], s);
}
__global__ void divide(
    const float* in, const float* most, const float* sums, float* out, int rows, int cols, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[i] = scale * expf(in[i] - most[i / cols]) / sums[i / cols];
}
torch::Tensor softmax(torch::Tensor x)
{
    auto y = torch::empty_like(x);
    const int R = x.size(0), C = x.size(1);
    auto most = torch::empty({R}, x.options());
    auto sums = torch::zeros({x.size(0)}, x.options());
    row_max<<<(R + 63) / 64, 64>>>(x.data_ptr<float>(), most.data_ptr<float>(), R, C);
    row_sum<<<R, 128>>>(x.data_ptr<float>(), most.data_ptr<float>(), sums.data_ptr<float>(), R, C);
    divide<<<(x.numel() + 255) / 256, 256>>>(
        x.data_ptr<float>(), most.data_ptr<float>(), sums.data_ptr<float>(), y.data_ptr<float>(), R, C, 1.0f);
    return y;
}
"""
