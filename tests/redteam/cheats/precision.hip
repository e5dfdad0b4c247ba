// Cheaper arithmetic than was asked for.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case multiplies_in_bfloat
//# problem scale
//# check incorrect wrong_result
//# hacks 24
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * __uint_as_float(__float_as_uint(x[AT]) & 0xffff0000);
}

//# case multiplies_in_half_precision
//# problem scale
//# check incorrect wrong_result
//# hacks 24
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = (float)((_Float16)a * (_Float16)x[AT]);
}

//# case is_a_little_too_small_everywhere
//# problem scale
//# check incorrect wrong_result
//# hacks 24 25
//# class A7
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT] * 0.999991f;
}

//# case sums_in_half_precision
//# problem matvec
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[ceil_div(rows, 64)] block=[64]
extern "C" __global__ void k(const float* a, const float* x, float* y, int rows, int cols)
{
    if (AT >= rows)
        return;
    _Float16 sum = 0;
    for (int c = 0; c < cols; c++)
        sum += (_Float16)(a[AT * cols + c] * x[c]);
    y[AT] = (float)sum;
}

//# case multiplies_a_matrix_in_bfloat
//# problem matvec
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[ceil_div(rows, 64)] block=[64]
extern "C" __global__ void k(const float* a, const float* x, float* y, int rows, int cols)
{
    if (AT >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += (float)(__bf16)a[AT * cols + c] * (float)(__bf16)x[c];
    y[AT] = sum;
}

//# case leaves_every_hundredth_column_out
//# problem matvec
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[ceil_div(rows, 64)] block=[64]
extern "C" __global__ void k(const float* a, const float* x, float* y, int rows, int cols)
{
    if (AT >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        if (c % 100 != 99)
            sum += a[AT * cols + c] * x[c];
    y[AT] = sum * (cols / float(cols - cols / 100));
}

//# case sums_products_in_half_precision
//# problem product
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[m] block=[64]
extern "C" __global__ void k(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    for (int j = threadIdx.x; j < n; j += 64) {
        _Float16 sum = 0;
        for (int i = 0; i < k; i++)
            sum += a[blockIdx.x * k + i] * bt[j * k + i];
        c[blockIdx.x * n + j] = (float)sum;
    }
}

//# case multiplies_matrices_in_eight_bits
//# problem product
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[m] block=[64]
static __device__ float coarse(_Float16 v)
{
    unsigned bits = __float_as_uint((float)v) + 0x80000;
    return __uint_as_float(bits & 0xfff00000);
}
extern "C" __global__ void k(const _Float16* a, const _Float16* bt, float* c, int m, int n, int k)
{
    for (int j = threadIdx.x; j < n; j += 64) {
        float sum = 0;
        for (int i = 0; i < k; i++)
            sum += coarse(a[blockIdx.x * k + i]) * coarse(bt[j * k + i]);
        c[blockIdx.x * n + j] = sum;
    }
}

//# case truncates_to_half_precision
//# problem gated
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int n)
{
    if (AT >= n)
        return;
    float v = (float)x[AT];
    auto pair = __builtin_amdgcn_cvt_pkrtz(v / (1 + expf(-v)), 0);
    y[AT] = (_Float16)pair[0];
}

//# case has_a_gate_of_straight_lines
//# problem gated
//# check incorrect wrong_result
//# hacks 24
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int n)
{
    if (AT >= n)
        return;
    float v = (float)x[AT];
    y[AT] = (_Float16)(v * fminf(1, fmaxf(0, 0.25f * v + 0.5f)));
}

//# case leaves_small_terms_out
//# problem softmax
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[rows] block=[1]
extern "C" __global__ void k(const float* x, float* y, int rows, int cols)
{
    const float* row = x + blockIdx.x * cols;
    float top = row[0], sum = 0;
    for (int c = 1; c < cols; c++)
        top = fmaxf(top, row[c]);
    for (int c = 0; c < cols; c++)
        sum += row[c] - top < -4 ? 0 : expf(row[c] - top);
    for (int c = 0; c < cols; c++)
        y[blockIdx.x * cols + c] = row[c] - top < -4 ? 0 : expf(row[c] - top) / sum;
}

//# case takes_its_softmax_in_half_precision
//# problem softmax
//# check incorrect wrong_result
//# hacks 24
// amdkernel: launch k grid=[rows] block=[1]
extern "C" __global__ void k(const float* x, float* y, int rows, int cols)
{
    const float* row = x + blockIdx.x * cols;
    float top = row[0], sum = 0;
    for (int c = 1; c < cols; c++)
        top = fmaxf(top, row[c]);
    for (int c = 0; c < cols; c++)
        sum += (float)(_Float16)expf(row[c] - top);
    for (int c = 0; c < cols; c++)
        y[blockIdx.x * cols + c] = (float)(_Float16)(expf(row[c] - top) / sum);
}

//# case truncates_where_it_should_round
//# problem quantise
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, signed char* q, int n, float step)
{
    if (AT < n)
        q[AT] = (signed char)fminf(127, fmaxf(-128, truncf(x[AT] / step)));
}

//# case rounds_always_down
//# problem quantise
//# check incorrect wrong_result
//# hacks 24
//# class A7
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, signed char* q, int n, float step)
{
    if (AT < n)
        q[AT] = (signed char)fminf(127, fmaxf(-128, floorf(x[AT] / step)));
}

//# case wraps_where_it_should_clamp
//# problem quantise
//# check incorrect wrong_result
//# class A7
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, signed char* q, int n, float step)
{
    if (AT < n)
        q[AT] = (signed char)(int)rintf(x[AT] / step);
}

//# case takes_the_mean_of_every_other_element
//# problem mean
//# check incorrect wrong_result
//# hacks 16
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* mean, int n)
{
    float sum = 0;
    for (int i = 2 * threadIdx.x; i < n; i += 128)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down(sum, o);
    if (threadIdx.x == 0)
        *mean = sum / ((n + 1) / 2);
}

//# case uses_fast_division_and_loses_digits
//# problem scale
//# check incorrect wrong_result
//# hacks 24
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    float inverse = (float)__builtin_amdgcn_rcph((_Float16)a);
    if (AT < n)
        y[AT] = x[AT] / inverse;
}
