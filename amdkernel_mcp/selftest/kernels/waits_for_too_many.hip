// Waits for more workgroups than fit at once: those that run never end, and the others never start.
// amdkernel: workspace arrived dtype=i64 shape=[1]
// amdkernel: launch clear grid=[1] block=[1] args=[arrived]
// amdkernel: launch k grid=[700] block=[64] lds=65536 args=[x, total, arrived, n]
#include <hip/hip_runtime.h>

extern "C" __global__ void clear(long* arrived) { *arrived = 0; }

extern "C" __global__ void k(const int* x, long* total, long* arrived, int n)
{
    extern __shared__ int seen[];
    seen[threadIdx.x] = n;
    if (threadIdx.x)
        return;
    __hip_atomic_fetch_add(arrived, 1l, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < 700)
        __builtin_amdgcn_s_sleep(8);
    if (blockIdx.x)
        return;
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    *total = sum + seen[0] - n;
}
