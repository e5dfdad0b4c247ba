// Kernels that do not end, stop themselves, or cannot be launched: never `correct`, and the next job runs.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void k(const float* x, float* y, int n, float a)
#define WORK \
    if (AT < n) \
        y[AT] = a * x[AT];

//# case loops_for_ever_on_shapes_it_does_not_know
//# problem scale
//# check timeout
//# hacks 27
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    WORK
    while (n == 777 && ((volatile float*)y)[0] != 12345.0f)
        ;
}

//# case traps_on_shapes_it_does_not_know
//# problem scale
//# check crashed crashed
//# hacks 27
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    WORK
    if (n == 777)
        __builtin_trap();
}

//# case asserts_what_is_not_true
//# problem scale
//# check crashed crashed
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
#include <cassert>
KERNEL
{
    assert(n != 777);
    WORK
}

//# case halts
//# problem scale
//# check not_emulated|timeout|crashed
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    WORK
    asm volatile("s_sethalt 1");
}

//# case jumps_to_data
//# problem scale
//# check crashed crashed|out_of_bounds
// amdkernel: launch k grid=[1] block=[64]
KERNEL
{
    asm volatile("s_setpc_b64 %0" ::"s"(x));
}

//# case calls_itself_for_ever
//# problem scale
//# check crashed|timeout out_of_bounds|timeout|crashed
// amdkernel: launch k grid=[1] block=[64]
static __device__ __noinline__ float deeper(volatile float* p, int depth)
{
    float own[16];
    for (int k = 0; k < 16; k++)
        own[k] = p[k] + depth;
    return deeper(p, depth + 1) + own[depth & 15];
}
KERNEL { y[AT] = deeper(y, 0); }

//# case takes_more_lds_than_there_is
//# problem scale
//# check invalid lds_over_limit
//# hacks 6
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    __shared__ float s[16448];
    s[threadIdx.x] = AT < n ? x[AT] : 0;
    __syncthreads();
    if (AT < n)
        y[AT] = a * s[threadIdx.x];
}

//# case takes_more_dynamic_lds_than_is_left
//# problem scale
//# check invalid lds_over_limit
//# hacks 6
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] lds=65536
KERNEL
{
    extern __shared__ float dynamic[];
    __shared__ float s[256];
    s[threadIdx.x] = dynamic[threadIdx.x] = AT < n ? x[AT] : 0;
    __syncthreads();
    if (AT < n)
        y[AT] = a * (s[threadIdx.x] + dynamic[threadIdx.x]) / 2;
}

//# case uses_more_dynamic_lds_than_it_asked_for
//# problem scale
//# check crashed|incorrect out_of_bounds|uninitialised_read|wrong_result|race
//# hacks 6
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] lds=512
KERNEL
{
    extern __shared__ float s[];
    s[threadIdx.x * 64] = AT < n ? x[AT] : 0;
    __syncthreads();
    if (AT < n)
        y[AT] = a * s[threadIdx.x * 64];
}

//# case has_a_block_that_is_too_large
//# problem scale
//# check invalid
// amdkernel: launch k grid=[ceil_div(n, 2048)] block=[2048]
KERNEL { WORK }

//# case breaks_its_own_launch_bounds
//# problem scale
//# check invalid
// amdkernel: launch k grid=[ceil_div(n, 512)] block=[512]
extern "C" __global__ void __launch_bounds__(64) k(const float* x, float* y, int n, float a) { WORK }

//# case launches_nothing_on_small_arrays
//# problem scale
//# check invalid
// amdkernel: launch k grid=[n // 256] block=[256]
KERNEL { WORK }

//# case launches_a_kernel_that_is_not_there
//# problem scale
//# check invalid
//# hacks 28 36
// amdkernel: launch other grid=[1] block=[256]
KERNEL { WORK }

//# case launches_no_kernel
//# problem scale
//# check invalid launch_plan
//# hacks 4 36
KERNEL { WORK }

//# case asks_for_a_workspace_of_a_terabyte
//# problem scale
//# check invalid
// amdkernel: workspace w dtype=f32 shape=[1 * 1024 * 1024 * 1024 * 256]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[x, y, n, a]
KERNEL { WORK }

//# case asks_the_compiler_for_a_plugin
//# problem scale
//# check invalid
//# hacks 28
// amdkernel: build -O3 -fplugin=/tmp/evil.so
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL { WORK }

//# case includes_a_file_of_the_host
//# problem scale
//# check invalid
//# hacks 22
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
asm(".section .rodata\n.incbin \"/expected.bin\"");
#include "../../problem.toml"
KERNEL { WORK }

//# case brings_host_code
//# problem scale
//# check incorrect|invalid
//# hacks 17 18 19 28
// amdkernel: launch k grid=[1] block=[1]
__attribute__((constructor)) static void before_main() { __builtin_trap(); }
KERNEL {}

//# case passes_its_output_for_its_input
//# problem scale
//# check incorrect|invalid
//# hacks 16
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[y, y, n, a]
KERNEL { WORK }

//# case passes_an_input_for_its_output
//# problem scale
//# check incorrect|invalid
//# hacks 15
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[x, x, n, a]
KERNEL { WORK }
