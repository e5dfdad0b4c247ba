// The descriptor of the buffer checks every access.
// amdkernel: launch blur grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

#if defined(__GFX9__)
constexpr int FLAGS = 0x00020000;
#else
constexpr int FLAGS = 0x31004000;
#endif

extern "C" __global__ __launch_bounds__(256) void blur(const float* __restrict__ x, float* __restrict__ y, int n)
{
    auto from = __builtin_amdgcn_make_buffer_rsrc((void*)x, 0, n * 4, FLAGS);
    auto to = __builtin_amdgcn_make_buffer_rsrc((void*)y, 0, n * 4, FLAGS);
    int at = 4 * (blockIdx.x * 256 + threadIdx.x);
    float sum = 0.0f;
#pragma unroll
    for (int d = -2; d <= 2; d++)  // offsets are unsigned: -4 is outside
        sum += __builtin_bit_cast(float, __builtin_amdgcn_raw_buffer_load_b32(from, at + 4 * d, 0, 0));
    __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(int, sum), to, at, 0, 0);
}
