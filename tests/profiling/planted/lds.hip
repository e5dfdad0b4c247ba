// Banks, width and alignment of the LDS.
#include <hip/hip_runtime.h>

// The columns of a square tile are in one bank.
// planted: bank_conflict
// amdkernel: launch unpadded_transpose grid=[32, 32] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void unpadded_transpose(const float* x, float* y, int n)
{
    __shared__ float tile[64][64];
    for (int r = threadIdx.y; r < 64; r += 4)
        tile[r][threadIdx.x] = x[(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 64; r += 4)
        y[(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + threadIdx.x] = tile[threadIdx.x][r];
}

// Rows of 32 words, one per lane: all lanes meet in one bank.
// planted: bank_conflict
// amdkernel: launch row_per_lane grid=[1216] block=[64] args=[x, y]
extern "C" __global__ void row_per_lane(const float* x, float* y)
{
    __shared__ float rows[64 * 32];
    for (int i = threadIdx.x; i < 64 * 32; i += 64)
        rows[i] = x[blockIdx.x * 2048 + i];
    __syncthreads();
    float a = 0, b = 1;
    for (int k = 0; k < 32; k++) {
        a += rows[threadIdx.x * 32 + k];
        b = fmaf(b, 0.5f, rows[threadIdx.x * 32 + (k ^ 5)]);
    }
    y[blockIdx.x * 64 + threadIdx.x] = a + b;
}

// A stride of 16 words, as of structures in LDS.
// planted: bank_conflict
// amdkernel: launch structures_in_lds grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void structures_in_lds(const float* x, float* y)
{
    __shared__ float state[256 * 16];
    for (int i = 0; i < 16; i++)
        state[i * 256 + threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x] + i;
    __syncthreads();
    float energy = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (int k = 0; k < 16; k++)
            energy += state[threadIdx.x * 16 + k] * (turn + k);
        state[threadIdx.x * 16 + turn] = energy;
    }
    y[blockIdx.x * 256 + threadIdx.x] = energy;
}

// A product of two tiles: two values of the LDS for each multiplication, without conflicts.
// planted: lds_bandwidth
// amdkernel: launch tile_without_registers grid=[16, 64] block=[16, 16] args=[x, y, 1024, 256]
extern "C" __global__ void tile_without_registers(const float* x, float* y, int n, int depth)
{
    __shared__ float a[16][17], b[16][16];
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < depth; k += 16) {
        a[threadIdx.y][threadIdx.x] = x[r * depth + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = x[(k + threadIdx.y) * n + c];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    y[r * n + c] = sum;
}

// A filter whose window is in LDS: a load for each tap.
// planted: lds_bandwidth
// amdkernel: launch filter_from_lds grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void filter_from_lds(const float* x, float* y)
{
    __shared__ float window[320];
    int i = blockIdx.x * 256 + threadIdx.x;
    window[threadIdx.x] = x[i];
    if (threadIdx.x < 64)
        window[256 + threadIdx.x] = x[i + 256];
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k += 8)
        for (int j = 0; j < 8; j++)
            sum += window[threadIdx.x + k + j];
    y[i] = sum;
}

// Two words at an odd word, in one instruction.
// planted: lds_misaligned
// amdkernel: launch odd_pairs grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void odd_pairs(const float* x, float* y)
{
    __shared__ float values[1024];
    for (int i = 0; i < 4; i++)
        values[i * 256 + threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x + i];
    __syncthreads();
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) float*)values + 8 * threadIdx.x % 512 + 4;
    float total = 0;
    for (int k = 0; k < 32; k++) {
        float2 pair;
        asm volatile("ds_read_b64 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(pair) : "v"(at + 16 * k) : "memory");
        total += pair.x * pair.y;
    }
    y[blockIdx.x * 256 + threadIdx.x] = total;
}

// Sixteen bytes at an address that is a multiple of four only.
// planted: lds_misaligned
// amdkernel: launch odd_quads grid=[1216] block=[128] args=[x, y]
extern "C" __global__ void odd_quads(const float* x, float* y)
{
    __shared__ float values[1024];
    for (int i = 0; i < 8; i++)
        values[i * 128 + threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x + i];
    __syncthreads();
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) float*)values + 16 * threadIdx.x + 4;
    typedef float Quad __attribute__((ext_vector_type(4)));
    float total = 0;
    for (int k = 0; k < 32; k++) {
        Quad quad;
        asm volatile("ds_read_b128 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(quad) : "v"(at + 16 * k) : "memory");
        total += quad.x * quad.y + quad.z * quad.w;
    }
    y[blockIdx.x * 128 + threadIdx.x] = total;
}

// All lanes add to four counters of their workgroup.
// planted: lds_atomics
// amdkernel: launch four_counters grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void four_counters(const float* x, unsigned* y)
{
    __shared__ unsigned counts[4];
    if (threadIdx.x < 4)
        counts[threadIdx.x] = 0;
    __syncthreads();
    float v = x[blockIdx.x * 256 + threadIdx.x];
    for (int k = 0; k < 16; k++)
        atomicAdd(&counts[((int)(v * 16384) >> k / 2) & 3], k + threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 4)
        y[blockIdx.x * 4 + threadIdx.x] = counts[threadIdx.x];
}

// A maximum over a workgroup, by one address.
// planted: lds_atomics
// amdkernel: launch one_maximum grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void one_maximum(const float* x, int* y)
{
    __shared__ int best[2];
    if (threadIdx.x < 2)
        best[threadIdx.x] = -1;
    __syncthreads();
    for (int k = 0; k < 6; k++)
        atomicMax(&best[(threadIdx.x >> 3) & 1], __float_as_int(x[(blockIdx.x + k) * 256 + threadIdx.x]));
    __syncthreads();
    if (threadIdx.x < 2)
        y[blockIdx.x * 2 + threadIdx.x] = best[threadIdx.x];
}

// A scan in steps: a barrier twice a step, for an addition.
// planted: barriers
// amdkernel: launch scan_in_steps grid=[608] block=[1024] args=[x, y]
extern "C" __global__ __launch_bounds__(1024) void scan_in_steps(const float* x, float* y)
{
    __shared__ float sums[1024];
    int t = threadIdx.x;
    sums[t] = x[blockIdx.x * 1024 + t];
    __syncthreads();
    for (int step = 1; step < 1024; step *= 2) {
        float before = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    y[blockIdx.x * 1024 + t] = sums[t];
}

// A barrier in every turn of a loop that needs none.
// planted: barriers
// amdkernel: launch barrier_each_turn grid=[608] block=[512] args=[x, y]
extern "C" __global__ __launch_bounds__(512) void barrier_each_turn(const float* x, float* y)
{
    __shared__ float last;
    float value = x[blockIdx.x * 512 + threadIdx.x];
    for (int turn = 0; turn < 64; turn++) {
        if (threadIdx.x == 0)
            last = value;
        __syncthreads();
        value = fmaf(value, 0.5f, last);
        __syncthreads();
    }
    y[blockIdx.x * 512 + threadIdx.x] = value;
}
