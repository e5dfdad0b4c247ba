// A wave a row; a lane takes a group of 32 weights with one load.
// amdkernel: launch gemv grid=[rows] block=[64]
#include <hip/hip_runtime.h>

using half2v = __attribute__((ext_vector_type(2))) _Float16;
using half8 = __attribute__((ext_vector_type(8))) _Float16;

extern "C" __global__ __launch_bounds__(64) void gemv(const uint4* __restrict__ w, const float* __restrict__ scale,
                                                      const half8* __restrict__ x, float* __restrict__ y, int rows,
                                                      int groups)
{
    __shared__ float parts[2];
    float total = 0.0f;
    for (int g = threadIdx.x; g < groups; g += 64) {
        uint4 packed = w[(size_t)blockIdx.x * groups + g];
        unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            half8 in = x[g * 4 + i];
#pragma unroll
            for (int p = 0; p < 4; p++) {  // nibbles p and p + 4
                unsigned bits = (words[i] >> 4 * p & 0x000f000f) | 0x64006400;
                half2v weight = __builtin_bit_cast(half2v, bits) - half2v(1032);
                sum = __builtin_amdgcn_fdot2(weight, half2v{in[p], in[p + 4]}, sum, false);
            }
        }
        total += sum * scale[(size_t)blockIdx.x * groups + g];
    }
    for (int step = warpSize / 2; step > 0; step /= 2)
        total += __shfl_xor(total, step);
    if (threadIdx.x % warpSize == 0)
        parts[threadIdx.x / warpSize] = total;
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = warpSize == 64 ? parts[0] : parts[0] + parts[1];
}
