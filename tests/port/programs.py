"""CUDA programs that are right on warps of 32; the line that goes wrong on a wave of 64 has the comment `wrong`."""

HEAD = "#include <cuda_runtime.h>\n#include <stdio.h>\n"
MAIN = """
int main()
{
    const int N = 512;
    int h[N], r[N] = {0}, *x, *y;
    for (int i = 0; i < N; i++) h[i] = i * 2654435761u >> 22;
    cudaMalloc(&x, sizeof h); cudaMalloc(&y, sizeof r);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, sizeof r);
    k<<<2, 256>>>(x, y);
    cudaError_t error = cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) printf("%d%c", r[i], i % 16 == 15 ? '\\n' : ' ');
    return error != cudaSuccess;
}
"""
KERNEL = "__global__ void k(const int* x, int* y)\n{{\n    int t = threadIdx.x, i = blockIdx.x * 256 + t;\n{}\n}}"


def program(body: str, *, before: str = "") -> str:
    """A program whose kernel `k` has this body: x[i] are numbers, y[i] is printed."""
    return HEAD + before + KERNEL.format(body) + MAIN


WAVE64 = {
    "a ballot in 32 bits": program(
        "    unsigned m = __ballot_sync(0xffffffff, x[i] & 1); // wrong\n    y[i] = __popc(m);"
    ),
    "a mask of the lanes below in 32 bits": program(
        "    int lane = t & 31;\n    unsigned b = __ballot_sync(0xffffffff, x[i] & 1); // wrong\n"
        "    y[i] = __popc(b & ((1u << lane) - 1));"
    ),
    "the total of a scan over 32": program(
        "    int v = x[i], lane = t & 31;\n    for (int d = 1; d < 32; d <<= 1) {\n"
        "        int o = __shfl_up_sync(0xffffffff, v, d);\n        if (lane >= d) v += o;\n    }\n"
        "    y[i] = __shfl_sync(0xffffffff, v, 31); // wrong"
    ),
    "a tree from 16 and warps of warpSize": program(
        "    __shared__ int part[32];\n    int v = x[i], lane = t % warpSize, warp = t / warpSize;\n"
        "    for (int d = 16; d; d >>= 1)\n        v += __shfl_down_sync(0xffffffff, v, d); // wrong\n"
        "    if (lane == 0) part[warp] = v;\n    __syncthreads();\n    y[i] = part[warp];"
    ),
    "lane 0 for each of 32": program(
        "    int lane = t & 31;\n    y[i] = __shfl_sync(0xffffffff, x[i], 0) + lane; // wrong"
    ),
}
SAME = {
    "a tree in each half": program(
        "    int v = x[i];\n    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d, 32);\n    y[i] = v;"
    ),
    "its own atomicMax": program(
        "    if (x[i] >= 0) atomicMax((float*)y + i, (float)x[i]);\n    atomicMax(y, 3);",
        before="__device__ float atomicMax(float* p, float v) { float old = *p; if (v > old) *p = v; return old; }\n",
    ),
    "cooperative groups and cub": program(
        "    namespace cg = cooperative_groups;\n    auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
        "    using Reduce = cub::WarpReduce<int>;\n    __shared__ Reduce::TempStorage room[8];\n"
        "    int most = Reduce(room[t / 32]).Reduce(x[i], cub::Max());\n"
        "    y[i] = cg::reduce(tile, x[i], cg::plus<int>()) + tile.shfl(most, 0);",
        before="#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cub/cub.cuh>\n",
    ),
}


def wrong_line(text: str) -> int:
    """The line with the comment `wrong`."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if "// wrong" in line)


TWO_KERNELS = """#include <cuda_runtime.h>
#include <vector>
#define TILE 16
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
template <typename T, int B> __global__ void sum_rows(const T* __restrict__ x, T* y, int rows, int cols)
{
    __shared__ T part[B / 32];
    T v = 0;
    for (int c = threadIdx.x; c < cols; c += B) v += x[(size_t)blockIdx.x * cols + c];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        T s = 0;
        for (int i = 0; i < B / warpSize; i++) s += part[i];
        y[blockIdx.x] = s;
    }
}
__global__ void transpose(const float* in, float* out, int width, int height)
{
    __shared__ float t[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) t[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = t[threadIdx.x][threadIdx.y];
}
int main()
{
    const int M = 70, N = 50;
    int threads = 256;
    float *a, *b, *c;
    size_t bytes = M * N * sizeof(float);
    cudaMalloc(&a, bytes); cudaMalloc((void**)&b, bytes); cudaMalloc(&c, M * sizeof(float));
    dim3 block(TILE, TILE), grid(CEIL_DIV(N, TILE), CEIL_DIV(M, TILE));
    transpose<<<grid, block>>>(a, b, N, M);
    sum_rows<float, 256><<<M, threads>>>(a, c, M, N);
}
"""
EXTENSION = '''import torch
from torch.utils.cpp_extension import load_inline
cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void relu(const float* x, float* out, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) out[i] = fmaxf(x[i], 0.0f);
}
torch::Tensor relu_cuda(torch::Tensor x) {
    auto size = x.numel();
    auto out = torch::zeros_like(x);
    const int block_size = 256;
    const int num_blocks = (size + block_size - 1) / block_size;
    relu<<<num_blocks, block_size>>>(x.data_ptr<float>(), out.data_ptr<float>(), size);
    return out;
}
"""
relu = load_inline(name="relu", cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);", cuda_sources=cuda_source)
'''
