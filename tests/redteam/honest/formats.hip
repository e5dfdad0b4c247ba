// Conversions as quantisation kernels have them.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

//# case saturates_before_it_converts
//# problem bytes_of_float
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, unsigned char* y, int n, float factor)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float v = fminf(fmaxf(x[i] * factor, -240.0f), 240.0f);
    y[i] = (unsigned char)__builtin_amdgcn_cvt_pk_fp8_f32(v, v, 0, false);
}

//# case four_bytes_of_float_at_once
//# problem bytes_of_float
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, unsigned char* y, int n, float factor)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    float v[4];
    for (int j = 0; j < 4; j++)
        v[j] = i + j < n ? __builtin_amdgcn_fmed3f(x[i + j] * factor, -240.0f, 240.0f) : 0.0f;
    int packed = __builtin_amdgcn_cvt_pk_fp8_f32(v[0], v[1], 0, false);
    packed = __builtin_amdgcn_cvt_pk_fp8_f32(v[2], v[3], packed, true);
    if (i + 3 < n)
        *(int*)(y + i) = packed;
    else
        for (int j = 0; i + j < n; j++)
            y[i + j] = (unsigned char)(packed >> 8 * j);
}

//# case a_fast_exponential
//# problem powers
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = __expf(x[i]);
}

//# case codes_by_the_reciprocal_of_the_step
//# problem codes
// amdkernel: launch k grid=[rows] block=[64]
extern "C" __global__ void k(const float* x, signed char* q, float* step, int rows, int cols)
{
    const float* row = x + (size_t)blockIdx.x * cols;
    float most = 1e-20f;
    for (int c = threadIdx.x; c < cols; c += 64)
        most = fmaxf(most, fabsf(row[c]));
    for (int d = 32; d; d /= 2)
        most = fmaxf(most, __shfl_xor(most, d));
    float inverse = 127.0f / most;
    for (int c = threadIdx.x; c < cols; c += 64)
        q[(size_t)blockIdx.x * cols + c] = (signed char)(int)rintf(row[c] * inverse);
    if (threadIdx.x == 0)
        step[blockIdx.x] = most * (1.0f / 127.0f);
}

//# case looks_at_the_alignment_of_its_arrays
//# problem slices
//# gate
// amdkernel: launch k grid=[ceil_div(n, 512)] block=[64]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int n)
{
    typedef _Float16 half8 __attribute__((ext_vector_type(8)));
    int i = (blockIdx.x * 64 + threadIdx.x) * 8;
    if (((size_t)x | (size_t)y) % 16 == 0 && i + 8 <= n)
        *(half8*)(y + i) = *(const half8*)(x + i) * (_Float16)2;
    else
        for (int j = 0; j < 8 && i + j < n; j++)
            y[i + j] = x[i + j] * (_Float16)2;
}
