// One launch: the data stay in registers over a barrier of all workgroups (at most 64, so that they run at once).
// amdkernel: workspace parts dtype=f32 shape=[ceil_div(n, 1024)]
// amdkernel: workspace arrived dtype=i32 shape=[1]
// amdkernel: launch clear grid=[1] block=[64] args=[arrived]
// amdkernel: launch centre grid=[ceil_div(n, 1024)] block=[256] args=[x, parts, arrived, y, n]
#include <hip/hip_runtime.h>

extern "C" __global__ void clear(int* arrived)
{
    if (threadIdx.x == 0)
        *arrived = 0;
}

__device__ void wait_for_all(int* arrived)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < (int)gridDim.x)
            __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
}

__device__ float total(float* shared)
{
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            shared[threadIdx.x] += shared[threadIdx.x + step];
    }
    __syncthreads();
    return shared[0];
}

extern "C" __global__ __launch_bounds__(256) void centre(const float* x, float* parts, int* arrived, float* y, int n)
{
    __shared__ float shared[256];
    float held[4], sum = 0.0f;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        int i = blockIdx.x * 1024 + e * 256 + threadIdx.x;
        held[e] = i < n ? x[i] : 0.0f;
        sum += held[e];
    }
    shared[threadIdx.x] = sum;
    sum = total(shared);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
    wait_for_all(arrived);
    shared[threadIdx.x] = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0.0f;
    float mean = total(shared) / n;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        int i = blockIdx.x * 1024 + e * 256 + threadIdx.x;
        if (i < n)
            y[i] = held[e] - mean;
    }
}
