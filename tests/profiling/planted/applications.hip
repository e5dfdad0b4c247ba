// Kernels as they are written for models and data: one reason each.
// amdkernel: workspace columns dtype=f32 shape=[16777216]
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

// Rotary embedding: powf, sinf and cosf once for each pair, although they depend on its place alone.
// planted: transcendental
// amdkernel: launch rotate_pairs grid=[8192] block=[256] args=[x, y]
extern "C" __global__ void rotate_pairs(const float2* x, float2* y)
{
    int i = blockIdx.x * 256 + threadIdx.x, token = i / 1024, pair = i % 64;
    float angle = token / powf(10000.0f, pair / 64.0f);
    float c = cosf(angle), s = sinf(angle);
    float2 v = x[i];
    y[i] = float2{v.x * c - v.y * s, v.y * c + v.x * s};
}

// Segments summed by a workgroup each, and one of them is half of the data.
// planted: uneven
// amdkernel: launch one_long_segment grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void one_long_segment(const float* x, float* y)
{
    bool is_long = blockIdx.x == 1717;
    int first = is_long ? 2097152 : blockIdx.x * 512, count = is_long ? 2097152 : 512;
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += 256)
        sum += x[first + i];
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

// A running sum in steps, one launch each, which fill the GPU and do next to nothing.
// planted: launches
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 1]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 2]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 4]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 8]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 16]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 32]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 64]
// amdkernel: launch sum_step grid=[1024] block=[256] args=[x, y, 128]
extern "C" __global__ void sum_step(const float* x, float* y, int distance)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i] + (i >= distance ? x[i - distance] : 0);
}

// A convolution by im2col: each value is written four times for a product that the next launch makes.
// planted: intermediate
// amdkernel: launch write_columns grid=[16383] block=[256] args=[x, columns]
extern "C" __global__ void write_columns(const float* x, float4* columns)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    columns[i] = float4{x[i], x[i + 1], x[i + 2], x[i + 3]};
}

// Scores of attention: each thread reads a key of 256 B on its own.
// planted: uncoalesced
// amdkernel: launch scores_of_keys grid=[256] block=[256] args=[x, y]
extern "C" __global__ void scores_of_keys(const __half* x, float* y)
{
    int key = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (int d = 0; d < 128; d++)
        sum += __half2float(x[d]) * __half2float(x[key * 128 + d]);
    y[key] = sum;
}

// A sparse row's columns: 64 lanes, 64 places in a table of 256 KiB.
// planted: gather
// amdkernel: launch gather_columns grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void gather_columns(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 column = ((const float4*)x)[i];
    y[i] = x[(int)(column.x * 65535)] + x[(int)(column.y * 65535)] + x[(int)(column.z * 65535)] +
           x[(int)(column.w * 65535)];
}
