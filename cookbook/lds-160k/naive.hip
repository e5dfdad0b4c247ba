// The table is read from memory, an element at a time.
// amdkernel: launch look_up grid=[times * 24] block=[1024]
#include <hip/hip_runtime.h>

extern "C" __global__ void look_up(const int* index, const float* table, float* y, int times)
{
    int i = blockIdx.x * 1024 + threadIdx.x;
    y[i] = table[index[i]];
}
