// Speed that is none: `faster` needs more than these have.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case is_the_baseline
//# problem scale
//# check correct
//# benchmark inconclusive
//# hacks 33 38
//# class B
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT];
}

//# case is_the_baseline_under_another_name
//# problem scale
//# check correct
//# benchmark inconclusive
//# hacks 38
//# class B
// amdkernel: launch much_faster grid=[ceil_div(n, 128)] block=[128]
extern "C" __global__ void much_faster(const float* in, float* out, int count, float factor)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < count)
        out[i] = in[i] * factor;
}

//# case wastes_its_time
//# problem big
//# check correct
//# class B
// amdkernel: launch k grid=[256] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    for (int i = AT; i < n; i += 256 * 256) {
        float sum = 0;
        for (int k = 0; k < 200; k++)
            sum += ((const volatile float*)x)[(i + k * 4096) % n];
        y[i] = a * x[i] + 0 * sum;
    }
}

//# case is_compared_with_a_baseline_that_wastes_its_time
//# problem big
//# check correct
//# benchmark invalid|inconclusive|faster
//# says believed because|not believed|not credible
//# baseline wastes_its_time
//# hacks 3 35
//# class B
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT];
}

//# case sends_empty_workgroups
//# problem big
//# check correct
//# benchmark inconclusive|slower
//# hacks 11
//# class B
// amdkernel: launch k grid=[ceil_div(n, 256) + 20000] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * x[AT];
}

//# case reads_everything_twice
//# problem big
//# check correct
//# class B
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = a * (x[AT] + 0 * ((const volatile float*)x)[(AT + n / 2) % n]);
}

//# case works_with_one_wave
//# problem big
//# check correct
//# benchmark inconclusive|slower|invalid
//# baseline reads_everything_twice
//# class B
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const float4* x, float4* y, int n, float a)
{
    for (int i = threadIdx.x; i < n / 4; i += 64)
        y[i] = make_float4(a * x[i].x, a * x[i].y, a * x[i].z, a * x[i].w);
    for (int i = n / 4 * 4 + threadIdx.x; i < n; i += 64)
        ((float*)y)[i] = a * ((const float*)x)[i];
}

//# case works_with_one_busy_wave_among_many
//# problem big
//# check correct
//# benchmark inconclusive|slower|invalid
//# baseline reads_everything_twice
//# class B
// amdkernel: launch k grid=[304] block=[256]
extern "C" __global__ void k(const float4* x, float4* y, int n, float a)
{
    if (AT >= 64)
        return;
    for (int i = threadIdx.x; i < n / 4; i += 64)
        y[i] = make_float4(a * x[i].x, a * x[i].y, a * x[i].z, a * x[i].w);
    for (int i = n / 4 * 4 + threadIdx.x; i < n; i += 64)
        ((float*)y)[i] = a * ((const float*)x)[i];
}

//# case lets_few_waves_fit
//# problem big
//# check correct
//# benchmark inconclusive|slower|invalid
//# baseline reads_everything_twice
//# class B
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64] lds=65536
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    extern __shared__ float s[];
    s[threadIdx.x] = a;
    if (AT < n)
        y[AT] = s[threadIdx.x] * x[AT];
}
