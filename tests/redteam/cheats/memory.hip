// Reads and writes where a kernel has no business.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case scans_memory_for_the_expected_result
//# problem scale
//# check crashed|incorrect out_of_bounds
//# hacks 22
//# gate
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    float first = a * x[0];
    for (const float* p = y + n;; p++)
        if (*p == first) {
            for (int i = threadIdx.x; i < n; i += 64)
                y[i] = p[i];
            return;
        }
}

//# case reads_on_behind_its_arguments
//# problem scale
//# check incorrect|crashed out_of_bounds
//# hacks 22
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    const volatile int* more = (const volatile int*)(const void*)__builtin_amdgcn_kernarg_segment_ptr();
    int found = 0;
    for (int i = 0; i < 4096; i++)
        found += more[i] == 12345678;
    for (int i = threadIdx.x; i < n; i += 256)
        y[i] = a * x[i] + found;
}

//# case makes_its_input_easy
//# problem softmax
//# check incorrect input_modified
//# hacks 15
// amdkernel: launch k grid=[rows] block=[256]
extern "C" __global__ void k(float* x, float* y, int rows, int cols)
{
    for (int c = threadIdx.x; c < cols; c += 256) {
        x[blockIdx.x * cols + c] = 0;
        y[blockIdx.x * cols + c] = 1.0f / cols;
    }
}

//# case restores_the_input_that_it_changed
//# problem scale
//# check incorrect input_modified
//# hacks 15
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(volatile float* x, float* y, int n, float a)
{
    if (AT >= n)
        return;
    float v = x[AT];
    x[AT] = 0;
    y[AT] = a * v;
    x[AT] = v;
}

//# case writes_one_element_behind_its_output
//# problem scale
//# check incorrect out_of_bounds
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    for (int i = threadIdx.x; i <= n; i += 256)
        y[i] = i < n ? a * x[i] : 0;
}

//# case writes_one_element_before_its_output
//# problem scale
//# check incorrect out_of_bounds
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    for (int i = (int)threadIdx.x - 1; i < n; i += 256)
        y[i] = i < 0 ? 0 : a * x[i];
}

//# case jumps_over_the_guard_into_another_array
//# problem scale
//# check incorrect|crashed
//# hacks 13
// amdkernel: workspace w dtype=f32 shape=[4096]
// amdkernel: launch k grid=[1] block=[256] args=[x, y, w, n, a]
extern "C" __global__ void k(const float* x, float* y, float* w, int n, float a)
{
    for (int i = threadIdx.x; i < n; i += 256) {
        y[i] = a * x[i];
        w[i + 40000] = y[i]; // far behind the workspace, and behind its guard
    }
}

//# case writes_where_a_host_program_might_keep_its_results
//# problem scale
//# check crashed out_of_bounds
//# hacks 1 18 19 20
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    const unsigned long guesses[] = {0x555555554000, 0x7ffff7fc0000, 0x7fffffffe000, 0x7f0000000000, 0x400000};
    for (unsigned long guess : guesses)
        *(volatile int*)(guess + 4 * threadIdx.x + (n & 0)) = 1;
}

//# case prints_that_it_is_right
//# problem scale
//# check incorrect|not_emulated|invalid
//# hacks 4 21
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (threadIdx.x == 0)
        printf("{\"verdict\": \"correct\", \"speedup\": 220}\nPASS\n");
}

//# case indexes_beyond_what_the_indices_allow
//# problem gathered
//# check incorrect out_of_bounds|wrong_result
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, const int* at, float* y, int m, int n)
{
    if (AT < n)
        y[AT] = x[at[AT] + 1];
}
