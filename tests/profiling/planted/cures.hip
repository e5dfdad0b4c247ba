// Reasons of kinds that came last, each with a cured twin: NAME and NAME_cured.
#include <hip/hip_fp16.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float4v = __attribute__((ext_vector_type(4))) float;
using float16v = __attribute__((ext_vector_type(16))) float;

// A product with 8 x 8 sums of a thread whose tile is loaded when it is needed.
template <bool AHEAD> __device__ void tiles(const float* x, float* y, int n)
{
    __shared__ float4 a[2][8][33], b[2][8][33];
    int t = threadIdx.x, r = t / 16, c = t % 16;
    const float* from_a = x + (blockIdx.y * 128 + t / 2) * n + (t & 1) * 4;
    const float* from_b = x + (t / 32) * n + blockIdx.x * 128 + (t % 32) * 4;
    float sum[8][8] = {};
    float4 next_a, next_b;
    if (AHEAD) { next_a = *(const float4*)from_a; next_b = *(const float4*)from_b; }
    for (int k = 0; k < n; k += 8) {
        int now = AHEAD ? (k / 8) & 1 : 0;
        if (!AHEAD) {
            __syncthreads();
            next_a = *(const float4*)(from_a + k);
            next_b = *(const float4*)(from_b + k * n);
        }
        float* column = (float*)&a[now][(t & 1) * 4][0] + t / 2;
        column[0] = next_a.x; column[132] = next_a.y; column[264] = next_a.z; column[396] = next_a.w;
        b[now][t / 32][t % 32] = next_b;
        __syncthreads();
        if (AHEAD && k + 8 < n) {
            next_a = *(const float4*)(from_a + k + 8);
            next_b = *(const float4*)(from_b + (k + 8) * n);
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            float4 p = a[now][j][r], q = a[now][j][r + 16], u = b[now][j][c], v = b[now][j][c + 16];
            float left[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w}, right[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
#pragma unroll
            for (int m = 0; m < 8; ++m)
#pragma unroll
                for (int l = 0; l < 8; ++l) sum[m][l] += left[m] * right[l];
        }
    }
#pragma unroll
    for (int m = 0; m < 8; ++m)
#pragma unroll
        for (int l = 0; l < 8; ++l)
            y[(blockIdx.y * 128 + (m / 4) * 64 + r * 4 + m % 4) * n + blockIdx.x * 128 + (l / 4) * 64 + c * 4 + l % 4] = sum[m][l];
}

// A stencil in time: each turn of the loop loads 16 bytes, waits, works for a while, and meets the others.
template <bool AHEAD> __device__ void turns(const float4* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 next = x[i];
    float sum = 0;
    for (int k = 1; k <= 12; ++k) {
        float4 v = AHEAD ? next : x[i + (k - 1) * 77824];
        if (AHEAD && k < 12) next = x[i + k * 77824];
        __syncthreads();
        float a = v.x, b = v.y, c = v.z, d = v.w;
        for (int j = 0; j < 40; ++j) { a = a * 0.9f + b; b = b * 0.8f + c; c = c * 0.7f + d; d = d * 0.6f + a; }
        sum += a + b + c + d;
    }
    y[i] = sum;
}
// planted: latency
// amdkernel: launch late_turns grid=[304] block=[256] args=[x, y]
extern "C" __global__ void late_turns(const float4* x, float* y) { turns<false>(x, y); }
// cured: late_turns
// amdkernel: launch late_turns_cured grid=[304] block=[256] args=[x, y]
extern "C" __global__ void late_turns_cured(const float4* x, float* y) { turns<true>(x, y); }

// Products of f16 in the shape of sixteen small blocks, where one large one does them.
// planted: slow_matrix
// amdkernel: launch small_blocks grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void small_blocks(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    half4 a = {(_Float16)x[i], 1, 2, 3}, b = {1, 2, 3, (_Float16)x[i + 1]};
    float16v s0 = {}, s1 = {};
    for (int k = 0; k < 256; ++k) {
        s0 = __builtin_amdgcn_mfma_f32_16x16x4f16(a, b, s0, 0, 0, 0);
        s1 = __builtin_amdgcn_mfma_f32_16x16x4f16(b, a, s1, 0, 0, 0);
    }
    float t = 0;
    for (int k = 0; k < 16; ++k) t += s0[k] + s1[k];
    y[i] = t;
}
// cured: small_blocks
// amdkernel: launch small_blocks_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void small_blocks_cured(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    half4 a = {(_Float16)x[i], 1, 2, 3}, b = {1, 2, 3, (_Float16)x[i + 1]};
    float4v s[2] = {};
    for (int k = 0; k < 256; ++k) {
        s[0] = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, s[0], 0, 0, 0);
        s[1] = __builtin_amdgcn_mfma_f32_16x16x16f16(b, a, s[1], 0, 0, 0);
    }
    float t = 0;
    for (int m = 0; m < 2; ++m)
        for (int k = 0; k < 4; ++k) t += s[m][k];
    y[i] = t;
}

// A running sum that goes to memory in each turn of the loop.
// planted: repeated_stores
// amdkernel: launch stores_each_turn grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void stores_each_turn(const float* x, volatile float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 12; ++k) {
        sum += x[i + k * 311296];
        y[i] = sum;
    }
}
// cured: stores_each_turn
// amdkernel: launch stores_each_turn_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void stores_each_turn_cured(const float* x, volatile float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 12; ++k) sum += x[i + k * 311296];
    y[i] = sum;
}

// All lanes of a wave load the same 16 bytes in each turn, through a pointer that may alias.
template <bool SCALAR> __device__ void polynomial(const float4* x, float* y)
{
    int wave = threadIdx.x / 64;
    if (SCALAR) wave = __builtin_amdgcn_readfirstlane(wave);
    float v = threadIdx.x * 0.001f, sum = 0;
    for (int k = 0; k < 256; ++k) {
        float4 c = x[blockIdx.x * 1024 + wave * 256 + k];
        sum = ((c.x * v + c.y) * v + c.z) * v + c.w + sum * 0.5f;
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}
// planted: uniform
// amdkernel: launch uniform_vectors grid=[1000] block=[256] args=[x, y]
extern "C" __global__ void uniform_vectors(const float4* __restrict__ x, float* __restrict__ y) { polynomial<false>(x, y); }
// cured: uniform_vectors
// amdkernel: launch uniform_vectors_cured grid=[1000] block=[256] args=[x, y]
extern "C" __global__ void uniform_vectors_cured(const float4* __restrict__ x, float* __restrict__ y) { polynomial<true>(x, y); }

// 16 output tiles with a loop of 4096 each: split the loop over workgroups.
// planted: little_parallelism
// amdkernel: launch deep_dot grid=[16] block=[256] args=[x, y]
extern "C" __global__ void deep_dot(const float* x, float* y)
{
    float sum = 0;
    for (int k = 0; k < 1024; ++k) sum += x[(blockIdx.x * 1024 + k) * 256 + threadIdx.x] * 1.5f;
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}
// cured: deep_dot
// amdkernel: launch deep_dot_cured grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void deep_dot_cured(const float* x, float* y)
{
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += x[(blockIdx.x * 16 + k) * 256 + threadIdx.x] * 1.5f;
    atomicAdd(&y[(blockIdx.x / 64) * 256 + threadIdx.x], sum);
}

// LDS read a word at a time where lanes want four neighbours.
template <typename T> __device__ void from_lds(const float* x, float* y)
{
    __shared__ float4 tile[1024];
    for (int k = threadIdx.x; k < 1024; k += 256) tile[k] = ((const float4*)x)[blockIdx.x * 1024 + k];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 256; ++k) {
        const volatile T* at = (const volatile T*)&tile[(threadIdx.x % 64 + k) & 1023];
        T part[16 / sizeof(T)];
#pragma unroll
        for (unsigned j = 0; j < 16 / sizeof(T); ++j)
            for (unsigned w = 0; w < sizeof(T) / 4; ++w) ((float*)&part[j])[w] = ((const volatile float*)&at[j])[w];
        float* v = (float*)part;
        sum += v[0] * v[1] + v[2] * v[3];
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}
// planted: narrow_lds
// amdkernel: launch lds_words grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void lds_words(const float* x, float* y) { from_lds<float>(x, y); }
// cured: lds_words
// amdkernel: launch lds_words_cured grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void lds_words_cured(const float* x, float* y)
{
    __shared__ float4 tile[1024];
    for (int k = threadIdx.x; k < 1024; k += 256) tile[k] = ((const float4*)x)[blockIdx.x * 1024 + k];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 256; ++k) {
        float4 v = tile[(threadIdx.x % 64 + k) & 1023];
        asm volatile("" : "+v"(v.x), "+v"(v.y), "+v"(v.z), "+v"(v.w));
        sum += v.x * v.y + v.z * v.w;
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

// A loop that must not be unrolled: its counter, its branch and its addresses are most of its instructions.
// planted: overhead
// amdkernel: launch rolled_loop grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void rolled_loop(const float* x, float* y)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    float v = tile[threadIdx.x];
    int a = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 2048; ++k) {
        a = (a + 7) & 255;
        int at = (a ^ (k & 15)) + (k >> 31);
        v += at == 3 ? 1.0f : 0.0f;
    }
    y[blockIdx.x * 256 + threadIdx.x] = v;
}
// cured: rolled_loop
// amdkernel: launch rolled_loop_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void rolled_loop_cured(const float* x, float* y)
{
    float v = x[blockIdx.x * 256 + threadIdx.x];
    int a = threadIdx.x;
#pragma unroll 16
    for (int k = 0; k < 2048; ++k) {
        a = (a + 7) & 255;
        v += (a ^ (k & 15)) == 3 ? 1.0f : 0.0f;
    }
    y[blockIdx.x * 256 + threadIdx.x] = v;
}

// One sum after the other in packed halves: the second half of each register is not used.
// planted: unpacked
// amdkernel: launch single_halves grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void single_halves(const __half* x, __half* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    __half v[8];
    for (int k = 0; k < 8; ++k) v[k] = x[i + k * 524288];
    for (int k = 0; k < 128; ++k)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            asm volatile("v_fma_f16 %0, %0, %0, %0" : "+v"(v[j]));
        }
    for (int k = 0; k < 8; ++k) y[i + k * 524288] = v[k];
}
// cured: single_halves
// amdkernel: launch single_halves_cured grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void single_halves_cured(const __half2* x, __half2* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    __half2 v[4];
    for (int k = 0; k < 4; ++k) v[k] = x[i + k * 524288];
    for (int k = 0; k < 128; ++k)
#pragma unroll
        for (int j = 0; j < 4; ++j) asm volatile("v_pk_fma_f16 %0, %0, %0, %0" : "+v"(v[j]));
    for (int k = 0; k < 4; ++k) y[i + k * 524288] = v[k];
}

// One matrix instruction for each pair of reads from LDS: a wave's tile of 16 x 16 reuses nothing.
template <int TILES> __device__ void wave_tile(const float* x, float* y)
{
    __shared__ half4 a[8][64], b[8][64];
    int t = threadIdx.x, lane = t % 64;
    for (int k = t; k < 512; k += 256) {
        a[k / 64][k % 64] = half4{(_Float16)x[blockIdx.x * 512 + k], 1, 2, 3};
        b[k / 64][k % 64] = half4{1, 2, 3, (_Float16)x[blockIdx.x * 512 + k + 1]};
    }
    __syncthreads();
    float4v sum[TILES][TILES] = {};
    for (int k = 0; k < 1024 / TILES / TILES; ++k) {
        half4 left[TILES], right[TILES];
#pragma unroll
        for (int m = 0; m < TILES; ++m) {
            left[m] = a[(k + m) & 7][lane];
            right[m] = b[(k + m) & 7][lane];
            asm volatile("" : "+v"(left[m]), "+v"(right[m]));
        }
#pragma unroll
        for (int m = 0; m < TILES; ++m)
#pragma unroll
            for (int n = 0; n < TILES; ++n) sum[m][n] = __builtin_amdgcn_mfma_f32_16x16x16f16(left[m], right[n], sum[m][n], 0, 0, 0);
    }
    float s = 0;
    for (int m = 0; m < TILES; ++m)
        for (int n = 0; n < TILES; ++n) s += sum[m][n][0] + sum[m][n][1] + sum[m][n][2] + sum[m][n][3];
    y[blockIdx.x * 256 + t] = s;
}
// planted: lds_bandwidth
// amdkernel: launch small_wave_tile grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void small_wave_tile(const float* x, float* y) { wave_tile<1>(x, y); }
// cured: small_wave_tile
// amdkernel: launch small_wave_tile_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void small_wave_tile_cured(const float* x, float* y) { wave_tile<4>(x, y); }

// Neighbouring workgroups share 32 KiB, and land on eight XCDs, each with its own L2.
// planted: xcd_order
// amdkernel: launch shared_by_neighbours grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void shared_by_neighbours(const float4* x, float* y)
{
    int tile = blockIdx.x / 8, i = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 8; ++k) {
        float4 v = x[tile * 2048 + k * 256 + i];
        sum += v.x + v.y + v.z + v.w;
    }
    y[blockIdx.x * 256 + i] = sum;
}
// cured: shared_by_neighbours
// amdkernel: launch shared_by_neighbours_cured grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void shared_by_neighbours_cured(const float4* x, float* y)
{
    int group = (blockIdx.x % 8) * 512 + blockIdx.x / 8, tile = group / 8, i = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 8; ++k) {
        float4 v = x[tile * 2048 + k * 256 + i];
        sum += v.x + v.y + v.z + v.w;
    }
    y[group * 256 + i] = sum;
}

// 160 registers and 24 KiB of LDS let one workgroup of a wave pair be there, and it waits for memory.
// planted: occupancy
// amdkernel: launch large_lds grid=[2432] block=[128] args=[x, y]
extern "C" __global__ void large_lds(const float* x, float* y)
{
    __shared__ float keep[12288];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 12; ++k) {
        keep[t + k * 128] = x[(blockIdx.x * 1536 + k * 128 + t) & 4194303];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += keep[((t + j) & 127) + k * 128] * 0.5f;
        if (sum < -1e30f) keep[t * 96] = 0;
        __syncthreads();
    }
    y[blockIdx.x * 128 + t] = sum;
}
// cured: large_lds
// amdkernel: launch large_lds_cured grid=[2432] block=[128] args=[x, y]
extern "C" __global__ void large_lds_cured(const float* x, float* y)
{
    __shared__ float keep[128];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 12; ++k) {
        keep[t] = x[(blockIdx.x * 1536 + k * 128 + t) & 4194303];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += keep[(t + j) & 127] * 0.5f;
        if (sum < -1e30f) keep[t] = 0;
        __syncthreads();
    }
    y[blockIdx.x * 128 + t] = sum;
}

// planted: latency
// amdkernel: launch tiles_when_needed grid=[16, 16] block=[256] args=[x, y, 2048]
extern "C" __global__ void __launch_bounds__(256) tiles_when_needed(const float* x, float* y, int n) { tiles<false>(x, y, n); }
// cured: tiles_when_needed
// amdkernel: launch tiles_when_needed_cured grid=[16, 16] block=[256] args=[x, y, 2048]
extern "C" __global__ void __launch_bounds__(256) tiles_when_needed_cured(const float* x, float* y, int n) { tiles<true>(x, y, n); }

// control: compute, matrix instructions that reuse each operand from LDS four times
// amdkernel: launch fine_wave_tile grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void fine_wave_tile(const float* x, float* y) { wave_tile<4>(x, y); }

// control: memory, a sum of three rows by 16 bytes a lane
// amdkernel: launch fine_three_rows grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void fine_three_rows(const float4* x, float4* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 a = x[i], b = x[i + 262144], c = x[i + 524288];
    y[i] = {a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w};
}

// control: memory, halves of 16 bytes a lane scaled in packed instructions
// amdkernel: launch fine_halves grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void fine_halves(const uint4* x, uint4* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    uint4 v = x[i];
    __half2* h = (__half2*)&v;
    for (int k = 0; k < 4; ++k) h[k] = __hmul2(h[k], __half2{2, 2});
    y[i] = v;
}

// control: compute, exponentials by squaring with four chains a thread
// amdkernel: launch fine_chains grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void fine_chains(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float a = x[i], b = a + 1, c = a + 2, d = a + 3;
    for (int k = 0; k < 512; ++k) {
        a = a * 0.99f + 0.1f; b = b * 0.98f + 0.2f; c = c * 0.97f + 0.3f; d = d * 0.96f + 0.4f;
    }
    y[i] = a + b + c + d;
}
