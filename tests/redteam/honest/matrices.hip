// Matrix products and softmax: MFMA by builtin and by assembly, split-K, stream-K, double buffers, online softmax.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half2_ __attribute__((ext_vector_type(2)));
typedef float float4_ __attribute__((ext_vector_type(4)));

// Four elements of row r, or zeros beyond the last row. k is a multiple of 16.
static __device__ half4 four(const _Float16* a, int r, int rows, int k, int at)
{
    return r < rows ? *(const half4*)(a + r * k + at) : half4{0, 0, 0, 0};
}

static __device__ void store(float* c, int m, int n, float4_ acc)
{
    int r0 = blockIdx.y * 16 + 4 * (threadIdx.x / 16), j = blockIdx.x * 16 + threadIdx.x % 16;
    for (int i = 0; i < 4; i++)
        if (r0 + i < m && j < n)
            c[(r0 + i) * n + j] = acc[i];
}

//# case a_dot_product_for_each_element
//# problem product
// amdkernel: launch kern grid=[ceil_div(m * n, 64)] block=[64]
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    if (AT >= m * n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i += 2)
        sum = __builtin_amdgcn_fdot2(*(const half2_*)(a + AT / n * k + i), *(const half2_*)(bt + AT % n * k + i), sum, false);
    c[AT] = sum;
}

//# case matrix_instructions
//# problem product
// amdkernel: launch kern grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[64]
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    int lane = threadIdx.x % 16, part = threadIdx.x / 16 * 4;
    float4_ acc = {0, 0, 0, 0};
    for (int i = 0; i < k; i += 16)
        acc = __builtin_amdgcn_mfma_f32_16x16x16f16(
            four(a, blockIdx.y * 16 + lane, m, k, i + part), four(bt, blockIdx.x * 16 + lane, n, k, i + part), acc, 0, 0, 0);
    store(c, m, n, acc);
}

//# case matrix_instructions_in_assembly
//# problem product
//# gate
// amdkernel: launch kern grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[64]
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    int lane = threadIdx.x % 16, part = threadIdx.x / 16 * 4;
    int r = min((int)blockIdx.y * 16 + lane, m - 1), j = min((int)blockIdx.x * 16 + lane, n - 1);
    const _Float16 *from_a = a + r * k + part, *from_b = bt + j * k + part;
    float4_ acc = {0, 0, 0, 0};
    for (int i = 0; i < k; i += 16) {
        half4 va, vb;
        asm volatile("global_load_dwordx2 %1, %3, off\n\tglobal_load_dwordx2 %2, %4, off\n\ts_waitcnt vmcnt(0)\n\t"
                     "v_mfma_f32_16x16x16_f16 %0, %1, %2, %0\n\ts_nop 15"
                     : "+v"(acc), "=&v"(va), "=&v"(vb) : "v"(from_a + i), "v"(from_b + i) : "memory");
    }
    store(c, m, n, acc);
}

//# case matrix_instructions_with_two_loads_in_flight
//# problem product
// amdkernel: launch kern grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[64]
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    int lane = threadIdx.x % 16, part = threadIdx.x / 16 * 4;
    int r = min((int)blockIdx.y * 16 + lane, m - 1), j = min((int)blockIdx.x * 16 + lane, n - 1);
    const _Float16 *from_a = a + r * k + part, *from_b = bt + j * k + part;
    half4 va, vb, wa, wb;
    float4_ acc = {0, 0, 0, 0};
    asm volatile("global_load_dwordx2 %0, %2, off\n\tglobal_load_dwordx2 %1, %3, off"
                 : "=&v"(va), "=&v"(vb) : "v"(from_a), "v"(from_b) : "memory");
    for (int i = 0; i < k; i += 16) {
        int next = min(i + 16, k - 16);
        asm volatile("global_load_dwordx2 %0, %5, off\n\tglobal_load_dwordx2 %1, %6, off\n\ts_waitcnt vmcnt(2)\n\t"
                     "v_mfma_f32_16x16x16_f16 %2, %3, %4, %2\n\ts_nop 15\n\ts_waitcnt vmcnt(0)\n\t"
                     "v_mov_b64 %3, %0\n\tv_mov_b64 %4, %1"
                     : "=&v"(wa), "=&v"(wb), "+v"(acc), "+v"(va), "+v"(vb) : "v"(from_a + next), "v"(from_b + next)
                     : "memory");
    }
    store(c, m, n, acc);
}

//# case split_k_with_atomics
//# problem product
// amdkernel: launch zero grid=[ceil_div(m * n, 64)] block=[64] args=[c, m * n]
// amdkernel: launch kern grid=[ceil_div(n, 16), ceil_div(m, 16), k // 16] block=[64]
extern "C" __global__ void zero(float* c, int m)
{
    if (AT < m)
        c[AT] = 0;
}
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    int lane = threadIdx.x % 16, at = threadIdx.x / 16 * 4 + 16 * blockIdx.z;
    float4_ acc = {0, 0, 0, 0};
    acc = __builtin_amdgcn_mfma_f32_16x16x16f16(
        four(a, blockIdx.y * 16 + lane, m, k, at), four(bt, blockIdx.x * 16 + lane, n, k, at), acc, 0, 0, 0);
    int r0 = blockIdx.y * 16 + 4 * (threadIdx.x / 16), j = blockIdx.x * 16 + lane;
    for (int i = 0; i < 4; i++)
        if (r0 + i < m && j < n)
            unsafeAtomicAdd(&c[(r0 + i) * n + j], acc[i]);
}

//# case stream_k_with_flags
//# problem product
//# gate
// amdkernel: workspace part dtype=f32 shape=[5, 256]
// amdkernel: workspace flag dtype=i32 shape=[5]
// amdkernel: launch zero grid=[1] block=[5] args=[flag]
// amdkernel: launch kern grid=[5] block=[64] args=[a, bt, c, part, flag, m, n, k]
extern "C" __global__ void zero(int* flag) { flag[threadIdx.x] = 0; }

// Each workgroup has an equal share of all steps. One that begins within a tile leaves its part for the owner.
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, float* part, int* flag, int m, int n, int k)
{
    int lane = threadIdx.x % 16, own = threadIdx.x / 16 * 4, steps = k / 16, wide = (n + 15) / 16;
    int all = wide * ((m + 15) / 16) * steps, share = (all + 4) / 5;
    int from = min(all, (int)blockIdx.x * share), to = min(all, from + share);
    for (int at = from; at < to;) {
        int tile = at / steps, first = at % steps, last = min(steps, first + to - at);
        int r = tile / wide * 16, j = tile % wide * 16;
        float4_ acc = {0, 0, 0, 0};
        for (int s = first; s < last; s++)
            acc = __builtin_amdgcn_mfma_f32_16x16x16f16(
                four(a, r + lane, m, k, s * 16 + own), four(bt, j + lane, n, k, s * 16 + own), acc, 0, 0, 0);
        at += last - first;
        if (first) {
            for (int i = 0; i < 4; i++)
                part[blockIdx.x * 256 + i * 64 + threadIdx.x] = acc[i];
            __threadfence();
            if (threadIdx.x == 0)
                __hip_atomic_store(&flag[blockIdx.x], 1 + tile, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
            continue;
        }
        for (int other = blockIdx.x + 1; last < steps && other < 5 && other * share < (tile + 1) * steps; other++) {
            while (__hip_atomic_load(&flag[other], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 1 + tile)
                __builtin_amdgcn_s_sleep(2);
            for (int i = 0; i < 4; i++)
                acc[i] += part[other * 256 + i * 64 + threadIdx.x];
        }
        for (int i = 0; i < 4; i++)
            if (int row = r + 4 * (threadIdx.x / 16) + i; row < m && j + lane < n)
                c[row * n + j + lane] = acc[i];
    }
}

//# case tiles_in_two_buffers_of_lds
//# problem product
// amdkernel: launch kern grid=[ceil_div(n, 16), ceil_div(m, 16)] block=[16, 16]
extern "C" __global__ void kern(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    __shared__ _Float16 sa[2][16][18], sb[2][16][18];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, j = blockIdx.x * 16 + ty;
    float sum = 0;
    auto load = [&](int into, int i) {
        sa[into][ty][tx] = r < m ? a[r * k + i + tx] : (_Float16)0;
        sb[into][ty][tx] = j < n ? bt[j * k + i + tx] : (_Float16)0;
    };
    load(0, 0);
    __syncthreads();
    for (int i = 0, in = 0; i < k; i += 16, in ^= 1) {
        if (i + 16 < k)
            load(in ^ 1, i + 16);
        for (int s = 0; s < 16; s++)
            sum += (float)sa[in][ty][s] * (float)sb[in][tx][s];
        __syncthreads();
    }
    if (r < m && (int)blockIdx.x * 16 + tx < n)
        c[r * n + blockIdx.x * 16 + tx] = sum;
}

//# case online_softmax
//# problem softmax
// amdkernel: launch kern grid=[rows] block=[64]
extern "C" __global__ void kern(const float* x, float* y, int rows, int cols)
{
    const float* row = x + blockIdx.x * cols;
    float top = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) {
        float v = row[c], higher = fmaxf(top, v);
        sum = sum * expf(top - higher) + expf(v - higher);
        top = higher;
    }
    for (int o = 32; o; o >>= 1) {
        float other = __shfl_xor(top, o), its = __shfl_xor(sum, o), higher = fmaxf(top, other);
        float mine = top == -INFINITY ? 0 : sum * expf(top - higher);
        sum = mine + (other == -INFINITY ? 0 : its * expf(other - higher));
        top = higher;
    }
    for (int c = threadIdx.x; c < cols; c += 64)
        y[blockIdx.x * cols + c] = expf(row[c] - top) / sum;
}

//# case softmax_by_blocks
//# problem softmax
// amdkernel: launch kern grid=[rows] block=[256]
extern "C" __global__ void kern(const float* x, float* y, int rows, int cols)
{
    __shared__ float s[256];
    const float* row = x + blockIdx.x * cols;
    int t = threadIdx.x;
    float top = -INFINITY, sum = 0;
    for (int c = t; c < cols; c += 256)
        top = fmaxf(top, row[c]);
    s[t] = top;
    for (int o = 128; o; o >>= 1) {
        __syncthreads();
        if (t < o)
            s[t] = fmaxf(s[t], s[t + o]);
    }
    __syncthreads();
    top = s[0];
    __syncthreads();
    for (int c = t; c < cols; c += 256)
        sum += expf(row[c] - top);
    s[t] = sum;
    for (int o = 128; o; o >>= 1) {
        __syncthreads();
        if (t < o)
            s[t] += s[t + o];
    }
    __syncthreads();
    for (int c = t; c < cols; c += 256)
        y[blockIdx.x * cols + c] = expf(row[c] - top) / s[0];
}

//# case matvec_with_a_wave_for_each_row
//# problem matvec
// amdkernel: launch kern grid=[rows] block=[64]
extern "C" __global__ void kern(const float* a, const float* x, float* y, int rows, int cols)
{
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64)
        sum += a[blockIdx.x * cols + c] * x[c];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_xor(sum, o);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

//# case split_k_with_a_last_block
//# problem matvec
// amdkernel: workspace part dtype=f32 shape=[rows, 4]
// amdkernel: workspace done dtype=u32 shape=[rows]
// amdkernel: launch zero grid=[1] block=[64] args=[done, rows]
// amdkernel: launch k grid=[rows, 4] block=[64] args=[a, x, y, part, done, rows, cols]
extern "C" __global__ void zero(unsigned* done, int rows)
{
    for (int i = threadIdx.x; i < rows; i += 64)
        done[i] = 0;
}
extern "C" __global__ void k(const float* a, const float* x, float* y, float* part, unsigned* done, int rows, int cols)
{
    int row = blockIdx.x, piece = blockIdx.y, size = (cols + 3) / 4, end = min(cols, (piece + 1) * size);
    float sum = 0;
    for (int i = piece * size + threadIdx.x; i < end; i += 64)
        sum += a[row * cols + i] * x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_xor(sum, o);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[row * 4 + piece] = sum;
        __threadfence();
        last = atomicAdd(&done[row], 1u) == 3;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    if (threadIdx.x == 0)
        y[row] = part[row * 4] + part[row * 4 + 1] + part[row * 4 + 2] + part[row * 4 + 3];
}
