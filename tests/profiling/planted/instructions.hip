// What the instructions are, and how many lanes take part.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

// Literals without an f: the arithmetic is in double precision.
// planted: double_precision
// amdkernel: launch double_literals grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void double_literals(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 24; k++)
        v = v * 0.99 + 0.01 * k;
    y[i] = v;
}

// A root of the wrong precision.
// planted: double_precision
// amdkernel: launch double_root grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void double_root(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 3; k++)
        v = v + sqrt((double)v) * 0.5;
    y[i] = v;
}

// Indices of 64 bits, divided by sizes that are known at run time only.
// planted: integer_division
// amdkernel: launch divided_indices grid=[1216] block=[256] args=[x, y, 37, 211]
extern "C" __global__ void divided_indices(const float* x, float* y, long long rows, long long columns)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    long long c = i % columns, r = i / columns % rows, b = i / (columns * rows);
    y[i] = x[(b * rows + r) * columns + c] * (c - r);
}

// Greatest common divisors: a remainder of 64 bits in each turn.
// planted: integer_division
// amdkernel: launch remainders grid=[608] block=[256] args=[x, y]
extern "C" __global__ void remainders(const float* x, long long* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    long long a = (long long)(x[i] * 1e12f), b = 982451653 + i, sum = 0;
    for (int k = 0; k < 4; k++) {
        sum += a % (b + k);
        a = a * 3 + k;
    }
    y[i] = sum;
}

// Four exponentials and logarithms for each addition.
// planted: transcendental
// amdkernel: launch many_exponentials grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void many_exponentials(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 16; k++)
        v = __expf(-v) + __logf(v + 1.5f) + __frsqrt_rn(v + 2) + __sinf(v);
    y[i] = v;
}

// GELU with exact functions, many times.
// planted: transcendental
// amdkernel: launch many_tanh grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void many_tanh(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 10; k++) {
        float e = __expf(2 * v), f = __expf(-v);
        v = __fdividef(e - 1, e + 1) + __fdividef(1.0f, 1 + f) + __sinf(f);
    }
    y[i] = v;
}

// Even lanes go one way, odd lanes the other.
// planted: divergence
// amdkernel: launch two_ways grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void two_ways(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    if (i & 1)
        for (int k = 0; k < 24; k++)
            v = fmaf(v, v, 0.1f * k);
    else
        for (int k = 0; k < 24; k++)
            v = v * 0.5f + fmaxf(v, 0.3f * k);
    y[i] = v;
}

// The number of turns is different in each lane.
// planted: divergence
// amdkernel: launch turns_by_lane grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void turns_by_lane(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    int turns = (i * 2654435761u >> 26) == 7 ? 160 : 6;
    for (int k = 0; k < turns; k++)
        v = fmaf(v, 0.7f, 0.1f);
    y[i] = v;
}

// Eight cases of a switch, by the lane's value.
// planted: divergence
// amdkernel: launch eight_ways grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void eight_ways(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
#pragma unroll 1
    for (int k = 0; k < 8; k++)
        switch ((i * 2654435761u + k) >> 13 & 7) {
        case 0: for (int j = 0; j < 6; j++) v = fmaf(v, v, 0.3f); break;
        case 1: for (int j = 0; j < 6; j++) v = fmaf(v, 0.3f, v * v); break;
        case 2: for (int j = 0; j < 6; j++) v = fabsf(v - 0.3f) * v; break;
        case 3: for (int j = 0; j < 6; j++) v = fmaxf(v * 0.7f, v - 1); break;
        case 4: for (int j = 0; j < 6; j++) v = fminf(v * 1.3f, v + 1); break;
        case 5: for (int j = 0; j < 6; j++) v = v * v - 0.9f * v; break;
        case 6: for (int j = 0; j < 6; j++) v = 1 - v * 0.4f * v; break;
        default: for (int j = 0; j < 6; j++) v = fmaf(v, 0.11f, 0.6f); break;
        }
    y[i] = v;
}

// All lanes of all workgroups add to one address.
// planted: atomics
// amdkernel: launch one_sum grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void one_sum(const float* x, unsigned* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned v = (unsigned)(x[i] * 100);
    if (v < 90)
        atomicMax(&y[v & 1], v + i);
}

// A histogram of 16 bins in memory.
// planted: atomics
// amdkernel: launch sixteen_bins grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void sixteen_bins(const float* x, unsigned* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    atomicAdd(&y[(unsigned)(x[i] * 16) & 15], 1u + (i & 3));
}

// Float sums of eight groups, with an addition in memory each.
// planted: atomics
// amdkernel: launch sums_of_groups grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void sums_of_groups(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsafeAtomicAdd(&y[64 * (i & 7)], x[i]);
}

// An array that is indexed by a value lives in scratch memory.
// planted: scratch
// amdkernel: launch indexed_array grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void indexed_array(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float kept[48];
    for (int k = 0; k < 48; k++)
        kept[k] = 0;
    for (int k = 0; k < 48; k++) {
        float v = x[i + k * 1024];
        kept[(int)(v * 47.9f)] += v;
    }
    float sum = 0;
    for (int k = 0; k < 48; k++)
        sum = fmaf(sum, 0.5f, kept[k]);
    y[i] = sum;
}

// Registers are limited to a third of what the values need.
// planted: scratch
// amdkernel: launch spilled_values grid=[1216] block=[256] args=[x, y]
extern "C" __global__ __attribute__((amdgpu_num_vgpr(24))) void spilled_values(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float kept[40];
#pragma unroll
    for (int k = 0; k < 40; k++)
        kept[k] = x[i + k * 4096];
#pragma unroll
    for (int turn = 0; turn < 3; turn++)
#pragma unroll
        for (int k = 0; k < 40; k++)
            kept[k] = fmaf(kept[k], kept[(k + 17) % 40], 0.5f);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 40; k++)
        sum += kept[k];
    y[i] = sum;
}

// A tiled product of half-precision matrices on the vector units.
// planted: matrix
// amdkernel: launch half_product grid=[16, 16] block=[16, 16] args=[x, y, 1024, 128]
extern "C" __global__ __launch_bounds__(256) void half_product(const __half* x, float* y, int n, int depth)
{
    __shared__ __half a[16][64], b[16][64];
    int t = threadIdx.y * 16 + threadIdx.x;
    float sums[4][4] = {};
    for (int k = 0; k < depth; k += 16) {
        for (int i = t; i < 1024; i += 256) {
            a[i / 64][i % 64] = x[(k + i / 64) * n + blockIdx.y * 64 + i % 64];
            b[i / 64][i % 64] = x[(k + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++)
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int c = 0; c < 4; c++)
                    sums[r][c] += __half2float(a[i][threadIdx.y * 4 + r]) * __half2float(b[i][threadIdx.x * 4 + c]);
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            y[(blockIdx.y * 64 + threadIdx.y * 4 + r) * n + blockIdx.x * 64 + threadIdx.x * 4 + c] = sums[r][c];
}

// The same in bfloat16, with a tile of 128 by 64.
// planted: matrix
// amdkernel: launch bfloat_product grid=[16, 16] block=[16, 16] args=[x, y, 1024, 64]
extern "C" __global__ __launch_bounds__(256) void bfloat_product(const unsigned short* x, float* y, int n, int depth)
{
    __shared__ float a[8][128], b[8][64];
    int t = threadIdx.y * 16 + threadIdx.x;
    float sums[8][4] = {};
    for (int k = 0; k < depth; k += 8) {
        for (int i = t; i < 1024; i += 256)
            a[i / 128][i % 128] = __uint_as_float(x[(k + i / 128) * 2048 + blockIdx.y * 128 + i % 128] << 16);
        for (int i = t; i < 512; i += 256)
            b[i / 64][i % 64] = __uint_as_float(x[(k + i / 64) * n + blockIdx.x * 64 + i % 64] << 16);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 4; c++)
                    sums[r][c] += a[i][threadIdx.y * 8 + r] * b[i][threadIdx.x * 4 + c];
        __syncthreads();
    }
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 4; c++)
            y[(blockIdx.y * 128 + threadIdx.y * 8 + r) * n + blockIdx.x * 64 + threadIdx.x * 4 + c] = sums[r][c];
}

// Code that is much larger than the instruction cache, with turns that each run all of it.
// planted: instruction_cache
// amdkernel: launch much_code grid=[304] block=[64] args=[x, y]
extern "C" __global__ void much_code(const float* x, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float v = x[i], w = x[i + 64];
#pragma unroll 1
    for (int turn = 0; turn < 3; turn++) {
#pragma unroll
        for (int k = 0; k < 10000; k++)
            v = fmaf(v, w, 0.0001234f * k), w = w * 0.77f;
        w += v;
    }
    y[i] = v + w;
}

// Positions in a volume, of a flat index, to keep off its faces.
// planted: integer_division
// amdkernel: launch guarded_elements grid=[1216] block=[256] args=[x, y, 17, 19, 23]
extern "C" __global__ void guarded_elements(const float* x, float* y, int a, int b, int c)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int p = i % a, q = i / a % b, r = i / a / b % c, s = i / a / b / c;
    bool inside = p > 0 && q > 0 && r > 0 && p < a - 1 && q < b - 1 && r < c - 1;
    y[i] = inside ? x[i] * s : 0;
}
