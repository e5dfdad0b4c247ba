// Too few waves, badly distributed waves, and launches that do too little.
#include <hip/hip_runtime.h>

// 200 values a lane in registers: one wave on a SIMD, and the launch has four.
// planted: occupancy
// amdkernel: launch many_registers grid=[4864] block=[64] args=[x, y]
extern "C" __global__ __launch_bounds__(64) void many_registers(const float* x, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float kept[320];
#pragma unroll
    for (int k = 0; k < 320; k++)
        kept[k] = x[i + k * 4096];
#pragma unroll
    for (int turn = 0; turn < 2; turn++) {
        float carry = x[(i + turn * 977) & 262143];
#pragma unroll
        for (int k = 0; k < 320; k++)
            kept[k] = fmaf(kept[k], carry, kept[(k + 37) % 320]);
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 320; k++)
        sum += kept[k];
    y[i] = sum;
}

// A wave has 48 KiB of LDS: one wave on a CU.
// planted: occupancy
// amdkernel: launch much_lds grid=[1216] block=[64] args=[x, y]
extern "C" __global__ void much_lds(const float* x, float* y)
{
    __shared__ float table[12 * 1024];
    for (int k = threadIdx.x; k < 12 * 1024; k += 64)
        table[k] = k * 0.5f;
    __syncthreads();
    int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 32; k++)
        sum += table[(int)(x[i + k * 65536] * 8191)];
    y[i] = sum;
}

// 32 KiB of dynamic LDS that the kernel hardly uses.
// planted: occupancy
// amdkernel: launch reserved_lds grid=[2432] block=[64] lds=32768 args=[x, y]
extern "C" __global__ void reserved_lds(const float* x, float* y)
{
    extern __shared__ float small[];
    small[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 24; k++)
        sum += x[i + k * 155648];
    y[i] = sum + small[threadIdx.x ^ 1];
}

// Eight workgroups walk over all elements.
// planted: little_parallelism
// amdkernel: launch eight_workgroups grid=[8] block=[256] args=[x, y, 1048576]
extern "C" __global__ void eight_workgroups(const float* x, float* y, int n)
{
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256)
        y[i] = x[i] * 2 + 1;
}

// One workgroup sums everything.
// planted: little_parallelism
// amdkernel: launch one_workgroup grid=[1] block=[1024] args=[x, y, 1048576]
extern "C" __global__ __launch_bounds__(1024) void one_workgroup(const float* x, float* y, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 1024)
        sum += x[i];
    y[threadIdx.x] = sum;
}

// Workgroups of 16 threads: three quarters of each wave are empty.
// planted: partial_waves
// amdkernel: launch sixteen_threads grid=[32768] block=[16] args=[x, y]
extern "C" __global__ void sixteen_threads(const float* x, float* y)
{
    int i = blockIdx.x * 16 + threadIdx.x;
    float value = x[i];
    for (int k = 0; k < 40; k++)
        value = fmaf(value, value, 0.1f);
    y[i] = value;
}

// One workgroup more than the CUs hold at once.
// planted: tail
// amdkernel: launch one_too_many grid=[305] block=[256] lds=40960 args=[x, y]
extern "C" __global__ void one_too_many(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float value = x[i], other = 1;
    for (int k = 0; k < 400; k++) {
        value = fmaf(value, 0.9f, 0.1f);
        other = fmaf(other, value, 0.2f);
    }
    y[i] = value + other;
}

// 640 workgroups of 1,024 threads; 608 fit.
// planted: tail
// amdkernel: launch a_few_too_many grid=[640] block=[1024] args=[x, y]
extern "C" __global__ __launch_bounds__(1024) void a_few_too_many(const float* x, float* y)
{
    int i = blockIdx.x * 1024 + threadIdx.x;
    float value = x[i], other = 1;
    for (int k = 0; k < 60; k++) {
        value = fmaf(value, 0.9f, 0.1f);
        other = fmaf(other, value, 0.2f);
    }
    y[i] = value + other;
}

// Twelve launches of four workgroups.
// planted: launches
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
// amdkernel: launch small_step grid=[4] block=[256] args=[x, y]
extern "C" __global__ void small_step(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i] + 1;
}

// A single launch over 2,048 elements.
// planted: launches
// amdkernel: launch tiny_kernel grid=[8] block=[256] args=[x, y]
extern "C" __global__ void tiny_kernel(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i] * 3;
}

// A chain of dependent multiplications, one wave on a SIMD.
// planted: latency
// amdkernel: launch one_chain grid=[304] block=[256] args=[x, y]
extern "C" __global__ void one_chain(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float value = x[i];
    for (int k = 0; k < 512; k++)
        value = fmaf(value, value, 0.25f);
    y[i] = value;
}

// A list: the next address is known when the last load is back.
// planted: latency
// amdkernel: launch follow_pointers grid=[304] block=[64] args=[x, y]
extern "C" __global__ void follow_pointers(const float* x, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = 0; k < 48; k++)
        i = ((int)(x[i] * 1048576.0f) + i + 64) & 1048575;
    y[blockIdx.x * 64 + threadIdx.x] = i;
}

// A search by halves: each step needs the value of the last one.
// planted: latency
// amdkernel: launch search_by_halves grid=[304] block=[64] args=[x, y]
extern "C" __global__ void search_by_halves(const float* x, int* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float wanted = (i & 1023) / 1024.0f;
    int low = 0, high = 1048576;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    y[i] = low;
}
