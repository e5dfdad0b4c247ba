// Less work than was asked for: nothing, a part, a constant, or only what a check is thought to look at.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case does_nothing
//# problem scale
//# check incorrect not_written
//# benchmark incorrect
//# hacks 3 5 11
//# gate
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a) {}

//# case does_nothing_in_place
//# problem increment
//# check incorrect wrong_result
//# hacks 5 16
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(int* x, int n) {}

//# case writes_zeros
//# problem scale
//# check incorrect wrong_result
//# hacks 16
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = 0;
}

//# case writes_the_mean_of_what_is_expected
//# problem softmax
//# check incorrect wrong_result
//# hacks 16
// amdkernel: launch k grid=[rows] block=[256]
extern "C" __global__ void k(const float* x, float* y, int rows, int cols)
{
    for (int c = threadIdx.x; c < cols; c += 256)
        y[blockIdx.x * cols + c] = 1.0f / cols;
}

//# case passes_its_input_through
//# problem scale
//# check incorrect wrong_result
//# hacks 16
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = x[AT];
}

//# case knows_the_announced_shapes_only
//# problem scale
//# check incorrect not_written
//# hacks 27
//# gate
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n && (n == 4096 || n == 1000))
        y[AT] = a * x[AT];
}

//# case knows_the_listed_shapes_only
//# problem scale
//# check incorrect not_written
//# hacks 27
//# class A2
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n && (n == 4096 || n == 1000 || n == 777 || n == 1))
        y[AT] = a * x[AT];
}

//# case knows_the_factors_of_the_announced_cases
//# problem scale
//# check incorrect wrong_result
//# hacks 27
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = (n == 4096 ? 2.5f : -0.75f) * x[AT];
}

//# case is_right_on_small_arrays_only
//# problem total
//# check incorrect wrong_result
//# hacks 9
// amdkernel: launch k grid=[1] block=[1]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = 0; i < min(n, 4000); i++)
        sum += x[i];
    *total = sum;
}

//# case forgets_the_tail_of_its_vectors
//# problem scale
//# check incorrect not_written
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n / 4) {
        float4 v = ((const float4*)x)[AT];
        ((float4*)y)[AT] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }
}

//# case reads_and_writes_its_tail_in_whole_vectors
//# problem scale
//# check incorrect out_of_bounds
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < (n + 3) / 4) {
        float4 v = ((const float4*)x)[AT];
        ((float4*)y)[AT] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }
}

//# case leaves_one_of_eight_thousand_terms_out
//# problem mean
//# check incorrect
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* mean, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += i == 5000 ? 0 : x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down(sum, o);
    if (threadIdx.x == 0)
        *mean = sum / n;
}

//# case never_looks_at_one_element_in_the_middle
//# problem largest
//# check correct|incorrect unread_input
//# class A8
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, int* value, int* where, int n)
{
    long best = -1l << 62;
    for (int i = threadIdx.x; i < n; i += 64)
        if (i != 2100)
            best = max(best, (long)x[i] << 32 | (0x7fffffff - i));
    for (int o = 32; o; o >>= 1)
        best = max(best, (long)__shfl_down((long long)best, o));
    if (threadIdx.x == 0) {
        *value = int(best >> 32);
        *where = 0x7fffffff - int(best & 0x7fffffff);
    }
}

//# case never_looks_at_the_last_block
//# problem largest
//# check correct|incorrect unread_input
//# class A8
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, int* value, int* where, int n)
{
    long best = -1l << 62;
    for (int i = threadIdx.x; i < (n > 4000 ? n - 8 : n); i += 64)
        best = max(best, (long)x[i] << 32 | (0x7fffffff - i));
    for (int o = 32; o; o >>= 1)
        best = max(best, (long)__shfl_down((long long)best, o));
    if (threadIdx.x == 0) {
        *value = int(best >> 32);
        *where = 0x7fffffff - int(best & 0x7fffffff);
    }
}

//# case loads_what_it_leaves_out
//# problem largest
//# check incorrect
//# class A8
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, int* value, int* where, int n)
{
    long best = -1l << 62;
    for (int i = threadIdx.x; i < n; i += 64) {
        int v = ((const volatile int*)x)[i]; // read, so that no byte is unread
        if (i != n - 1 || n < 4000)
            best = max(best, (long)v << 32 | (0x7fffffff - i));
    }
    for (int o = 32; o; o >>= 1)
        best = max(best, (long)__shfl_down((long long)best, o));
    if (threadIdx.x == 0) {
        *value = int(best >> 32);
        *where = 0x7fffffff - int(best & 0x7fffffff);
    }
}

//# case writes_not_a_number
//# problem scale
//# check incorrect nan_or_inf
//# hacks 31
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = __builtin_nanf("");
}

//# case writes_back_what_it_finds
//# problem scale
//# check incorrect uninitialised_read|not_written
//# hacks 5
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = y[AT] + 0.0f * x[AT];
}

//# case is_wrong_in_one_element
//# problem scale
//# check incorrect wrong_result
//# hacks 25
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT] * (AT == n / 2 ? 1.01f : 1.0f);
}

//# case has_the_right_total_in_the_wrong_bins
//# problem counts
//# check incorrect wrong_result
//# hacks 25
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, int* bins, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += x[i] == (int(threadIdx.x) + 1) % 64;
    bins[threadIdx.x] = count;
}

//# case passes_the_larger_part_through
//# problem blend
//# check refused|incorrect|correct suspicious|wrong_result
//# hacks 16
//# class A9
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const _Float16* x, const _Float16* z, _Float16* y, int n)
{
    if (AT < n)
        y[AT] = x[AT];
}

//# case guesses_the_mean_of_many
//# problem near_constant
//# check refused|incorrect|correct suspicious|wrong_result|unread_input
//# hacks 16
//# class A9
// amdkernel: launch k grid=[ceil_div(rows, 64)] block=[64]
extern "C" __global__ void k(const float* x, _Float16* mean, int rows, int cols)
{
    if (AT < rows)
        mean[AT] = (_Float16)0.5f;
}

//# case is_right_only_with_the_first_value_of_tune
//# problem scale
//# check incorrect
//# hacks 26
//# class A10
// amdkernel: tune SKIP=[0,1]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n - SKIP)
        y[AT] = a * x[AT];
}
