// Kernels whose counters of a sample are compared with those of all workgroups: each is launched once, in this order.
// Usage: sampled_kernels NAME [SIZE]. Prints nothing; the emulator reports the dispatch.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using half8 = __attribute__((ext_vector_type(8))) _Float16;
using float4v = __attribute__((ext_vector_type(4))) float;

// c = a b, f16 in, f32 out: 128 x 128 results for four waves, both tiles in LDS.
__global__ __launch_bounds__(256) void gemm_tiled(const _Float16* a, const _Float16* b, float* c, int n)
{
    __shared__ _Float16 left[128][36], right[32][132];
    int lane = threadIdx.x % 64, wave = threadIdx.x / 64, across = lane % 16, quad = lane / 16;
    int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128, wrow = wave / 2 * 64, wcol = wave % 2 * 64;
    float4v sum[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int i = 0; i < 2; i++) {
            int e = (threadIdx.x + 256 * i) * 8;
            half8 va = *(const half8*)&a[(size_t)(row0 + e / 32) * n + k0 + e % 32];
            half8 vb = *(const half8*)&b[(size_t)(k0 + e / 128) * n + col0 + e % 128];
            for (int j = 0; j < 8; j++) {
                left[e / 32][e % 32 + j] = va[j];
                right[e / 128][e % 128 + j] = vb[j];
            }
        }
        __syncthreads();
        for (int kk = 0; kk < 32; kk += 16) {
            half4 fa[4], fb[4];
            for (int i = 0; i < 4; i++)
                for (int e = 0; e < 4; e++) {
                    fa[i][e] = left[wrow + 16 * i + across][kk + 4 * quad + e];
                    fb[i][e] = right[kk + 4 * quad + e][wcol + 16 * i + across];
                }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] = __builtin_amdgcn_mfma_f32_16x16x16f16(fa[i], fb[j], sum[i][j], 0, 0, 0);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++)
                c[(size_t)(row0 + wrow + 16 * i + 4 * quad + e) * n + col0 + wcol + 16 * j + across] = sum[i][j][e];
}

// Workgroups in groups of 8 rows, so that neighbours share columns; the sizes need not be multiples of the tile.
__device__ void tile_of_product(const float* a, const float* b, float* c, int n, int tr, int tc)
{
    __shared__ float left[16][17], right[16][17];
    int row = tr * 16 + threadIdx.y, col = tc * 16 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 16) {
        left[threadIdx.y][threadIdx.x] = row < n && k0 + threadIdx.x < n ? a[row * n + k0 + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = col < n && k0 + threadIdx.y < n ? b[(k0 + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

__global__ void gemm_swizzled(const float* a, const float* b, float* c, int n)
{
    int tiles = (n + 15) / 16, group = blockIdx.x / (8 * tiles), first = group * 8, rows = min(tiles - first, 8);
    int within = blockIdx.x % (8 * tiles);
    tile_of_product(a, b, c, n, first + within % rows, within / rows);
}

// Neighbours are on one of eight XCDs: the tiles are dealt to them.
__global__ void gemm_dealt(const float* a, const float* b, float* c, int n)
{
    int tiles = n / 16, each = tiles * tiles / 8, at = blockIdx.x % 8 * each + blockIdx.x / 8;
    tile_of_product(a, b, c, n, at / tiles, at % tiles);
}

__global__ void gemm_naive(const _Float16* a, const _Float16* b, float* c, int n)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += (float)a[(size_t)row * n + i] * (float)b[(size_t)i * n + col];
    c[(size_t)row * n + col] = sum;
}

// Each workgroup a part of k; the parts meet in memory.
__global__ void gemm_split_k(const float* a, const float* b, float* c, int n)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y, part = n / gridDim.z;
    float sum = 0;
    for (int i = blockIdx.z * part; i < (int)(blockIdx.z + 1) * part; i++)
        sum += a[row * n + i] * b[i * n + col];
    unsafeAtomicAdd(&c[row * n + col], sum);
}

__global__ void transpose_naive(const float* x, float* y, int n)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < n && col < n)
        y[(size_t)col * n + row] = x[(size_t)row * n + col];
}

__global__ void transpose_tiled(const float* x, float* y, int n)
{
    __shared__ float tile[32][33];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (row + j < n && col < n)
            tile[threadIdx.y + j][threadIdx.x] = x[(size_t)(row + j) * n + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (row + j < n && col < n)
            y[(size_t)(row + j) * n + col] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void block_sums(const float* x, float* y, int n)
{
    __shared__ float parts[256];
    float sum = 0;
    for (int i = blockIdx.x * 2048 + threadIdx.x; i < min(n, ((int)blockIdx.x + 1) * 2048); i += 256)
        sum += x[i];
    parts[threadIdx.x] = sum;
    for (int s = 128; s; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s)
            parts[threadIdx.x] += parts[threadIdx.x + s];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = parts[0];
}

__global__ void grid_stride(const float* x, float* y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2 * x[i] + y[i];
}

__global__ void softmax(const float* x, float* y, int cols)
{
    __shared__ float parts[4];
    const float* in = x + (size_t)blockIdx.x * cols;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        most = fmaxf(most, in[i]);
    for (int s = 32; s; s /= 2)
        most = fmaxf(most, __shfl_xor(most, s));
    if (threadIdx.x % 64 == 0)
        parts[threadIdx.x / 64] = most;
    __syncthreads();
    most = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += expf(in[i] - most);
    for (int s = 32; s; s /= 2)
        sum += __shfl_xor(sum, s);
    if (threadIdx.x % 64 == 0)
        parts[threadIdx.x / 64] = sum;
    __syncthreads();
    sum = parts[0] + parts[1] + parts[2] + parts[3];
    for (int i = threadIdx.x; i < cols; i += 256)
        y[(size_t)blockIdx.x * cols + i] = expf(in[i] - most) / sum;
}

__global__ void stencil(const float* x, float* y, int n)
{
    int col = blockIdx.x * 64 + threadIdx.x, row = blockIdx.y * 4 + threadIdx.y;
    if (row < 1 || col < 1 || row >= n - 1 || col >= n - 1)
        return;
    const float* at = x + (size_t)row * n + col;
    y[(size_t)row * n + col] = 0.2f * (at[0] + at[1] + at[-1] + at[n] + at[-n]);
}

// 64 queries for a wave, all keys in turn; the sum is scaled again only where a larger score comes.
__global__ void attention(const float* q, const float* k, const float* v, float* out, int keys, int heads)
{
    enum { D = 16 };
    int head = blockIdx.y, query = blockIdx.x * 64 + threadIdx.x;
    const float* own = q + ((size_t)head * keys + query) * D;
    float sum = 0, most = -1e30f, acc[D] = {}, mine[D];
    for (int d = 0; d < D; d++)
        mine[d] = own[d];
    for (int key = 0; key < keys; key++) {
        const float* kk = k + ((size_t)head * keys + key) * D;
        const float* vv = v + ((size_t)head * keys + key) * D;
        float score = 0;
        for (int d = 0; d < D; d++)
            score += mine[d] * kk[d];
        if (score > most) {
            float by = __expf(most - score);
            sum *= by;
            for (int d = 0; d < D; d++)
                acc[d] *= by;
            most = score;
        }
        float weight = __expf(score - most);
        sum += weight;
        for (int d = 0; d < D; d++)
            acc[d] += weight * vv[d];
    }
    for (int d = 0; d < D; d++)
        out[((size_t)head * keys + query) * D + d] = acc[d] / sum;
}

// What no sample speaks for.
__global__ void triangular(const float* x, float* y, int n)
{
    float sum = 0;
    for (int i = 0; i <= (int)blockIdx.x; i++)
        sum += x[i * 64 + threadIdx.x];
    y[blockIdx.x * 64 + threadIdx.x] = sum;
}

__global__ void most_exit(const float* x, float* y, int n)
{
    if (blockIdx.x % 7 != 3)
        return;
    for (int i = threadIdx.x; i < 4096; i += 256)
        y[blockIdx.x * 256 + threadIdx.x] += x[i];
}

__global__ void late_exit(const float* x, float* y, int n)
{
    if (blockIdx.x >= gridDim.x / 2 + 5)
        return;
    for (int i = threadIdx.x; i < 4096; i += 256)
        y[blockIdx.x * 256 + threadIdx.x] += x[i];
}

__global__ void queue(const float* x, float* y, int n, int* next)
{
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0)
            item = atomicAdd(next, 1);
        __syncthreads();
        int i = item;
        __syncthreads();
        if (i >= n / 256)
            return;
        y[i * 256 + threadIdx.x] = x[i * 256 + threadIdx.x];
    }
}

__global__ void chain(const float* x, float* y, int n, int* next)
{
    if (threadIdx.x == 0)
        while (__hip_atomic_load(next, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != (int)blockIdx.x)
            ;
    __syncthreads();
    y[blockIdx.x * 256 + threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_store(next, (int)blockIdx.x + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

__global__ void gather(const float* x, const int* index, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[index[i]];
}

__global__ void rotated(const float* x, float* y, int n)
{
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += x[(blockIdx.x + i) % 64 * 256 + threadIdx.x];
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

__global__ void boundary_in_the_middle(const float* x, float* y, int n)
{
    int far = blockIdx.x > gridDim.x / 3 ? 4 * n : n;
    y[blockIdx.x * 256 + threadIdx.x] = x[far + blockIdx.x * 256 + threadIdx.x];
}

static void* buffer(size_t bytes, bool integers = false)
{
    void* p = nullptr;
    std::vector<float> values(bytes / 4 + 1);
    unsigned state = 1;
    for (auto& v : values) {
        state = state * 1664525u + 1013904223u;
        int whole = state >> 12;
        if (integers)
            memcpy(&v, &whole, 4);
        else
            v = (state >> 8) / 16777216.0f - 0.5f;
    }
    if (hipMalloc(&p, bytes) != hipSuccess || hipMemcpy(p, values.data(), bytes, hipMemcpyHostToDevice) != hipSuccess)
        exit(1);
    return p;
}

int main(int argc, char** argv)
{
    const char* name = argv[1];
    int n = atoi(argv[2]);
    auto is = [&](const char* other) { return !strcmp(name, other); };
    size_t square = (size_t)n * n * 4;
    bool flat = strncmp(name, "gemm", 4) && strncmp(name, "transpose", 9) && !is("stencil");
    size_t bytes = flat ? (size_t)n * 4 * (is("boundary") ? 6 : 1) : square;
    if (is("attention"))
        bytes = (size_t)n * 16 * 16 * 4;
    if (is("softmax"))
        bytes = (size_t)n * 2048 * 4;
    if (is("triangular") || is("chain"))
        bytes = (size_t)n * 1024;
    if (is("most_exit") || is("late_exit") || is("rotated"))
        bytes = (size_t)n * 1024 + (1 << 20);
    auto* x = (float*)buffer(bytes);
    auto* y = (float*)buffer(bytes);
    auto* z = (float*)buffer(bytes);
    auto* w = is("attention") ? (float*)buffer(bytes) : z;
    int* counter = nullptr;
    if (hipMalloc(&counter, 256) != hipSuccess || hipMemset(counter, 0, 256) != hipSuccess)
        return 1;
    int t16 = (n + 15) / 16, t32 = (n + 31) / 32;
    if (is("gemm_tiled")) gemm_tiled<<<dim3(n / 128, n / 128), 256>>>((_Float16*)x, (_Float16*)y, z, n);
    if (is("gemm_swizzled")) gemm_swizzled<<<t16 * t16, dim3(16, 16)>>>(x, y, z, n);
    if (is("gemm_dealt")) gemm_dealt<<<t16 * t16, dim3(16, 16)>>>(x, y, z, n);
    if (is("gemm_naive")) gemm_naive<<<dim3(t16, t16), dim3(16, 16)>>>((_Float16*)x, (_Float16*)y, z, n);
    if (is("gemm_split_k")) gemm_split_k<<<dim3(n / 16, n / 16, 8), dim3(16, 16)>>>(x, y, z, n);
    if (is("transpose_naive")) transpose_naive<<<dim3(t16, t16), dim3(16, 16)>>>(x, y, n);
    if (is("transpose_tiled")) transpose_tiled<<<dim3(t32, t32), dim3(32, 8)>>>(x, y, n);
    if (is("block_sums")) block_sums<<<(n + 2047) / 2048, 256>>>(x, y, n);
    if (is("grid_stride")) grid_stride<<<2432, 256>>>(x, y, n);
    if (is("softmax")) softmax<<<n, 256>>>(x, y, 2000);
    if (is("stencil")) stencil<<<dim3((n + 63) / 64, (n + 3) / 4), dim3(64, 4)>>>(x, y, n);
    if (is("attention")) attention<<<dim3(n / 64, 16), 64>>>(x, y, z, w, n, 16);
    if (is("triangular")) triangular<<<n, 64>>>(x, y, n);
    if (is("most_exit")) most_exit<<<n, 256>>>(x, y, n);
    if (is("late_exit")) late_exit<<<n, 256>>>(x, y, n);
    if (is("queue")) queue<<<608, 256>>>(x, y, n, counter);
    if (is("chain")) chain<<<n, 256>>>(x, y, n, counter);
    if (is("gather")) {
        auto* index = (int*)buffer(bytes, true);
        std::vector<int> wrapped(n);
        unsigned state = 7;
        for (auto& v : wrapped)
            v = (state = state * 1664525u + 1013904223u) % n;
        if (hipMemcpy(index, wrapped.data(), bytes, hipMemcpyHostToDevice) != hipSuccess)
            return 1;
        gather<<<n / 256, 256>>>(x, index, y, n);
    }
    if (is("rotated")) rotated<<<n, 256>>>(x, y, n);
    if (is("boundary")) boundary_in_the_middle<<<n / 256, 256>>>(x, y, n);
    if (is("tiny")) block_sums<<<8, 256>>>(x, y, n);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
