// Formats of few bits: what is small, and what is too large for them.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

//# case is_not_a_number_where_the_format_saturates
//# problem bytes_of_float
//# check incorrect nan_or_inf
//# gate
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, unsigned char* y, int n, float factor)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i] * factor;
    unsigned char code = (unsigned char)__builtin_amdgcn_cvt_pk_fp8_f32(fminf(fmaxf(v, -240.0f), 240.0f), 0.0f, 0, false);
    y[i] = fabsf(v) > 248.0f ? 0x80 : code;
}

//# case writes_small_bytes_of_float_as_zero
//# problem bytes_of_float
//# check incorrect wrong_result
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, unsigned char* y, int n, float factor)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float v = fminf(fmaxf(x[i] * factor, -240.0f), 240.0f);
    unsigned char code = (unsigned char)__builtin_amdgcn_cvt_pk_fp8_f32(v, 0.0f, 0, false);
    y[i] = code & 0x78 ? code : 0;
}

//# case takes_small_exponentials_in_half_precision
//# problem powers
//# check incorrect wrong_result
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float v = __expf(x[i]);
    y[i] = x[i] < -0.4f ? __half2float(__float2half(v)) : v;
}

//# case truncates_codes
//# problem codes
//# check incorrect wrong_result
// amdkernel: launch k grid=[rows] block=[64]
extern "C" __global__ void k(const float* x, signed char* q, float* step, int rows, int cols)
{
    const float* row = x + (size_t)blockIdx.x * cols;
    float most = 1e-20f;
    for (int c = threadIdx.x; c < cols; c += 64)
        most = fmaxf(most, fabsf(row[c]));
    for (int d = 32; d; d /= 2)
        most = fmaxf(most, __shfl_xor(most, d));
    for (int c = threadIdx.x; c < cols; c += 64)
        q[(size_t)blockIdx.x * cols + c] = (signed char)(int)(row[c] * (127.0f / most));
    if (threadIdx.x == 0)
        step[blockIdx.x] = most / 127.0f;
}

//# case works_on_aligned_arrays_only
//# problem slices
//# check incorrect
// amdkernel: launch k grid=[ceil_div(n, 512)] block=[64]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int n)
{
    typedef _Float16 half8 __attribute__((ext_vector_type(8)));
    int i = (blockIdx.x * 64 + threadIdx.x) * 8;
    x = (const _Float16*)((size_t)x & ~(size_t)15);
    if (((size_t)y) % 16 == 0 && i + 8 <= n)
        *(half8*)(y + i) = *(const half8*)(x + i) * (_Float16)2;
    else
        for (int j = 0; j < 8 && i + j < n; j++)
            y[i + j] = x[i + j] * (_Float16)2;
}
