"""CUDA programs that are right on warps of 32; the line that goes wrong on a wave of 64 has the comment `wrong`."""

from collections.abc import Mapping

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


SHOW = """
    puts("== NAME");
    cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) printf("%d%c", r[i], i % 16 == 15 ? '\\n' : ' ');
"""


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
    "the count of a ballot": program("    y[i] = __popc(__ballot_sync(0xffffffff, x[i] & 1)); // wrong"),
    "a vote": program("    y[i] = __any_sync(0xffffffff, x[i] > 990); // wrong"),
    "the number of lanes that are here": program(
        "    if (x[i] & 1) {\n        unsigned m = __activemask(); // wrong\n        y[i] = __popc(m);\n    }"
    ),
    "one atomic for the lanes of a branch": program(
        "    if (x[i] & 1) {\n        unsigned m = __activemask(); // wrong\n"
        "        if (__ffs(m) - 1 == (t & 31)) atomicAdd(&y[t / 32], __popc(m));\n    }"
    ),
    "the size of a coalesced group": program(
        "    if (x[i] & 1) y[i] = cooperative_groups::coalesced_threads().size(); // wrong",
        before="#include <cooperative_groups.h>\n",
    ),
    "the neighbour of a lane": program("    y[i] = __shfl_down_sync(0xffffffff, x[i], 1); // wrong"),
    "lanes turned by one": program("    y[i] = __shfl_sync(0xffffffff, x[i], (t + 1) & 31); // wrong"),
    "lanes with the same key": program(
        "    unsigned m = __match_any_sync(0xffffffff, x[i] & 3); // wrong\n    y[i] = __popc(m);"
    ),
    "a place from the first lane": program(
        "    int from = 0;\n    if (t % WARP_SIZE == 0) from = atomicAdd(&y[256], 1) * 0 + t;\n"
        "    y[t] = __shfl_sync(0xffffffff, from, 0); // wrong",
        before="#define WARP_SIZE 32\n",
    ),
    "a word of bits for each warp": program(
        "    if ((t & 31) == 0) y[0] = 0;\n    y[i >> 5] = __ballot_sync(0xffffffff, x[i] & 1); // wrong"
    ),
    "lane after lane": program(
        "    unsigned left = __ballot_sync(0xffffffff, x[i] & 1); // wrong\n    int sum = 0;\n"
        "    while (left) {\n        sum += __shfl_sync(0xffffffff, x[i], __ffs(left) - 1);\n"
        "        left &= left - 1;\n    }\n    y[i] = sum;"
    ),
    "warps counted by warpSize and by 32": program(
        "    __shared__ int seen[32];\n    if (t < 32) seen[t] = 0;\n    __syncthreads();\n"
        "    if (t % warpSize == 0) seen[t / warpSize] = 1;\n    __syncthreads();\n    int n = 0;\n"
        "    for (int w = 0; w < 256 / 32; w++) n += seen[w]; // wrong\n    y[i] = n;"
    ),
    "lane 0 for each of 32": program(
        "    int lane = t & 31;\n    y[i] = __shfl_sync(0xffffffff, x[i], 0) + lane; // wrong"
    ),
}
LIBRARIES = (
    HEAD
    + """#include <cublas_v2.h>
#include <curand.h>
#include <math.h>
#include <vector>
int main()
{
    const int M = 5, N = 3, K = 4, R = 4096;
    float a[K * M], b[N * K], c[M * N], alpha = 2, beta = 3, dot, norm, *x, *y, *z, *numbers;
    int largest, wrong = 0;
    for (int i = 0; i < K * M; i++) a[i] = i % 7 - 3;
    for (int i = 0; i < N * K; i++) b[i] = i % 5 - 2;
    for (int i = 0; i < M * N; i++) c[i] = i;
    cudaMalloc(&x, sizeof a); cudaMalloc(&y, sizeof b); cudaMalloc(&z, sizeof c);
    cudaMalloc(&numbers, R * sizeof(float));
    cublasHandle_t handle;
    cublasCreate(&handle);
    cublasSetMatrix(K, M, sizeof(float), a, K, x, K); cublasSetVector(N * K, sizeof(float), b, 1, y, 1);
    cublasSetVector(M * N, sizeof(float), c, 1, z, 1);
    cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &alpha, x, K, y, K, &beta, z, M);
    cublasSdot(handle, N * K, x, 1, y, 1, &dot); cublasSnrm2(handle, K * M, x, 1, &norm);
    cublasIsamax(handle, M * N, z, 1, &largest);
    float got[M * N], from_host = 0, squares = 0, most = 0;
    cublasGetVector(M * N, sizeof(float), z, 1, got, 1);
    for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = 0; k < K; k++) sum += a[k + i * K] * b[k + j * K];
        wrong += got[i + j * M] != alpha * sum + beta * c[i + j * M];
        most = fmaxf(most, fabsf(got[i + j * M]));
    }
    for (int i = 0; i < N * K; i++) from_host += a[i] * b[i];
    for (int i = 0; i < K * M; i++) squares += a[i] * a[i];
    wrong += dot != from_host || fabsf(norm - sqrtf(squares)) > 1e-4f || fabsf(got[largest - 1]) != most;
    curandGenerator_t generator;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    curandSetPseudoRandomGeneratorSeed(generator, 7);
    curandGenerateNormal(generator, numbers, R, 10, 2);
    std::vector<float> r(R);
    cudaMemcpy(r.data(), numbers, R * sizeof(float), cudaMemcpyDeviceToHost);
    double mean = 0, spread = 0;
    for (float v : r) mean += v / R;
    for (float v : r) spread += (v - mean) * (v - mean) / R;
    wrong += fabs(mean - 10) > 0.2 || fabs(spread - 4) > 0.4;
    puts(wrong ? "FAILED" : "PASSED");
    return wrong;
}
"""
)
SAME = {
    "libraries by plain loops": LIBRARIES,
    "matrix fragments and random numbers": program(
        "    using namespace nvcuda;\n    __shared__ half a[256], b[256];\n    __shared__ float c[8][256];\n"
        "    a[t] = half(float(x[i] % 7));\n    b[t] = half(float(x[i] % 5));\n    __syncthreads();\n"
        "    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;\n"
        "    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;\n"
        "    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;\n    wmma::fill_fragment(fc, 1.0f);\n"
        "    wmma::load_matrix_sync(fa, a, 16);\n    wmma::load_matrix_sync(fb, b, 16);\n"
        "    wmma::mma_sync(fc, fa, fb, fc);\n    wmma::store_matrix_sync(c[t / 32], fc, 16, wmma::mem_row_major);\n"
        "    __syncthreads();\n    float sum = 1;\n    int wrong = 0;\n"
        "    for (int k = 0; k < 16; k++) sum += float(a[t / 16 * 16 + k]) * float(b[t % 16 * 16 + k]);\n"
        "    for (int w = 0; w < 8; w++) wrong += c[w][t] != sum;\n    curandState state;\n"
        '    curand_init(7, i, 0, &state);\n    if (wrong) printf("FAILED\\n");\n'
        "    y[i] = int(sum) + int(16 * curand_uniform(&state));",
        before="#include <curand_kernel.h>\n#include <mma.h>\n",
    ),
    "a tree in each half": program(
        "    int v = x[i];\n    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d, 32);\n    y[i] = v;"
    ),
    "its own atomicMax, a pipeline, a barrier, functions on bytes and a tuple of Thrust": program(
        "    __shared__ int s[256];\n    __shared__ cuda::barrier<cuda::thread_scope_block> all;\n"
        "    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> room;\n"
        "    auto block = cooperative_groups::this_thread_block();\n    if (t == 0) init(&all, 256);\n"
        "    block.sync();\n"
        "    auto pipe = cuda::make_pipeline(block, &room);\n    pipe.producer_acquire();\n"
        "    cuda::memcpy_async(block, s, x + blockIdx.x * 256, sizeof s, pipe);\n    pipe.producer_commit();\n"
        "    pipe.consumer_wait();\n    int v = __vmaxs4(s[255 - t], s[t]) + __viaddmax_s32(t, 1, 9);\n"
        "    v += thrust::get<1>(thrust::make_tuple(1, 3));\n"
        "    all.wait(all.arrive());\n    s[t] = v;\n    all.arrive_and_wait();\n    y[i] = s[t ^ 255];\n"
        "    if (x[i] >= 0) atomicMax((float*)y + i, (float)x[i]);\n    atomicMax(y, 3);",
        before="#include <thrust/pair.h>\n#include <thrust/tuple.h>\n"
        "#include <cooperative_groups.h>\n#include <cuda/barrier>\n#include <cuda/pipeline>\n"
        "__device__ float atomicMax(float* p, float v) { float old = *p; if (v > old) *p = v; return old; }\n",
    ),
    "cooperative groups and cub": program(
        "    namespace cg = cooperative_groups;\n    auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
        "    using Reduce = cub::WarpReduce<int>;\n    __shared__ Reduce::TempStorage room[8];\n"
        "    int most = Reduce(room[t / 32]).Reduce(x[i], cub::Max());\n"
        "    struct Two { int a, b; };\n    Two two = {x[i], t};\n"
        "    two = cg::reduce(tile, two, [](Two p, Two q) { return Two{p.a + q.a, p.b > q.b ? p.b : q.b}; });\n"
        "    y[i] = cg::reduce(tile, x[i], cg::plus<int>()) + tile.shfl(most, 0) + two.a * two.b;",
        before="#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cub/cub.cuh>\n",
    ),
}


def all_kernels(programs: Mapping[str, str]) -> str:
    """One program of the kernels of all these, each with its own output after a line with its name."""
    parts, runs = [], []
    for number, (name, text) in enumerate(programs.items()):
        parts.append(text.removeprefix(HEAD).removesuffix(MAIN).replace("void k(", f"void k{number}("))
        runs.append(f"k{number}<<<2, 256>>>(x, y);{SHOW.replace('NAME', name)}cudaMemset(y, 0, sizeof r);")
    start, _, end = MAIN.partition("    k<<<2, 256>>>(x, y);\n")
    return HEAD + "\n".join(parts) + start + "\n".join(runs) + end


def outputs(text: str) -> dict[str, str]:
    """What `all_kernels` printed, by the name of the program."""
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("== ")[1:]}


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
