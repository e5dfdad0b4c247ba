// Through registers: global load, LDS store.
// amdkernel: launch reverse grid=[ceil_div(n, 1024)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void reverse(const float* x, float* y, int n)
{
    __shared__ float tile[1024];
    int first = blockIdx.x * 1024;
    for (int i = 0; i < 4; i++) {
        int at = i * 256 + threadIdx.x;
        tile[at] = x[min(first + at, n - 1)];
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        int at = i * 256 + threadIdx.x;
        if (first + at < n)
            y[first + at] = tile[min(1023, n - 1 - first) - at];
    }
}
