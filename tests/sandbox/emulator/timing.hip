// Kernels whose time is known from the clocks of their instructions: the simulation of a unit must give it.
#include <hip/hip_runtime.h>

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using float4v = __attribute__((ext_vector_type(4))) float;

// 2048 vector instructions of a wave: each needs the one before.
extern "C" __global__ void multiply_adds(float* y, int)
{
    float a = threadIdx.x;
    for (int k = 0; k < 8; k++)
        asm volatile(".rept 256\n v_fma_f32 %0, %0, %0, %0\n .endr" : "+v"(a));
    y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

extern "C" __global__ void exponentials(float* y, int)
{
    float a = threadIdx.x;
    for (int k = 0; k < 8; k++)
        asm volatile(".rept 256\n v_exp_f32 %0, %0\n .endr" : "+v"(a));
    y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

#if defined(WITH_MATRIX)
// 1024 matrix instructions of a wave on one accumulator.
extern "C" __global__ void products(float* y, int)
{
    half4 a = {1, 1, 1, 1};
    float4v sum = {};
    for (int k = 0; k < 4; k++)
        asm volatile(".rept 256\n v_mfma_f32_16x16x16_f16 %0, %1, %1, %0\n .endr" : "+v"(sum) : "v"(a));
    asm volatile("s_nop 15\n s_nop 15" ::: "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum[0];
}

// The same with as many vector instructions, which run at the same time.
extern "C" __global__ void products_and_adds(float* y, int)
{
    half4 a = {1, 1, 1, 1};
    float4v sum = {};
    float b = threadIdx.x;
    for (int k = 0; k < 4; k++)
        asm volatile(".rept 256\n v_mfma_f32_16x16x16_f16 %0, %2, %2, %0\n v_add_f32 %1, %1, %1\n .endr"
                     : "+v"(sum), "+v"(b) : "v"(a));
    asm volatile("s_nop 15\n s_nop 15" ::: "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum[0] + b;
}

// Four products at a time in a shape of small blocks, which runs at half of the rate.
extern "C" __global__ void small_blocks(float* y, int)
{
    half4 a = {1, 1, 1, 1};
    using float16v = __attribute__((ext_vector_type(16))) float;
    float16v sum = {};
    for (int k = 0; k < 4; k++)
        asm volatile(".rept 256\n v_mfma_f32_16x16x4_4b_f16 %0, %1, %1, %0\n .endr" : "+v"(sum) : "v"(a));
    asm volatile("s_nop 15\n s_nop 15" ::: "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum[0];
}
#endif

// 2048 loads from LDS whose lanes are `stride` words apart.
extern "C" __global__ void shared_loads(float* y, int stride)
{
    __shared__ float tile[4096];
    for (int k = threadIdx.x; k < 4096; k += blockDim.x)
        tile[k] = k;
    __syncthreads();
    float sum = 0;
    int at = threadIdx.x * stride % 4096;
#pragma unroll 16
    for (int k = 0; k < 2048; k++)
        sum += ((volatile float*)tile)[(at + k / 1024) & 4095];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One load after the other, each at the place that the one before brought: the L2 has all of them.
extern "C" __global__ void chase(float* y, int)
{
    const int* next = (const int*)y + 524288;
    int at = threadIdx.x;
    for (int k = 0; k < 512; k++)
        at = next[at] + (k * 64 & 8191) + threadIdx.x;
    y[threadIdx.x] = at;
}

// A product in tiles of 32 x 32: a load, two barriers and the use of the tile in each turn.
template <bool AHEAD> __device__ void product(float* y)
{
    __shared__ float a[2][256];
    int lane = threadIdx.x;
    float sum = 0, loaded = y[lane];
    for (int k = 1; k <= 64; k++) {
        float now = loaded;
        if (!AHEAD)
            now = y[k * 256 + lane];
        else if (k < 64)
            loaded = y[(k + 1) * 256 + lane];
        a[k & 1][lane] = now;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 128; i++)
            sum = sum * 1.5f + a[k & 1][(lane / 64) * 64 + i % 64];
    }
    y[65536 + blockIdx.x * 256 + lane] = sum;
}
extern "C" __global__ void loads_in_time(float* y, int) { product<true>(y); }
extern "C" __global__ void loads_when_needed(float* y, int) { product<false>(y); }

int main()
{
    float* y;
    if (hipMalloc((void**)&y, 8 << 20) || hipMemset(y, 0, 8 << 20))
        return 1;
    multiply_adds<<<1, 256>>>(y, 0);
    multiply_adds<<<1, 1024>>>(y, 0);
    exponentials<<<1, 1024>>>(y, 0);
    shared_loads<<<1, 256>>>(y, 1);
    shared_loads<<<1, 256>>>(y, 32);
    chase<<<1, 64>>>(y, 0);
    loads_in_time<<<1, 256>>>(y, 0);
    loads_when_needed<<<1, 256>>>(y, 0);
    multiply_adds<<<1216, 1024>>>(y, 0);
#if defined(WITH_MATRIX)
    products<<<1, 256>>>(y, 0);
    small_blocks<<<1, 256>>>(y, 0);
    products_and_adds<<<1, 256>>>(y, 0);
#endif
    return hipDeviceSynchronize();
}
