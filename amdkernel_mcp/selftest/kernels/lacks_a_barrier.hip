// The same without its barriers.
// amdkernel: launch k grid=[1] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void k(const int* x, long* total, int n)
{
    __shared__ long part[256];
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += x[i];
    part[threadIdx.x] = sum;
    for (int o = 128; o; o >>= 1) {
        if ((int)threadIdx.x < o)
            part[threadIdx.x] += part[threadIdx.x + o];
    }
    if (threadIdx.x == 0)
        *total = part[0];
}
