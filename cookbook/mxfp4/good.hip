// Eight numbers a thread through the scaled conversion.
// amdkernel: launch decode grid=[ceil_div(blocks * 4, 256)] block=[256]
#include <hip/hip_runtime.h>

using float2v = __attribute__((ext_vector_type(2))) float;
using float4v = __attribute__((ext_vector_type(4))) float;

extern "C" __global__ __launch_bounds__(256) void decode(const unsigned* __restrict__ x,
                                                         const unsigned char* __restrict__ scale, float4v* __restrict__ y,
                                                         int blocks)
{
    int i = blockIdx.x * 256 + threadIdx.x;  // a word: a quarter of a block
    if (i >= blocks * 4)
        return;
    float factor = __builtin_bit_cast(float, (unsigned)scale[i / 4] << 23);
    float2v a = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(x[i], factor, 0);
    float2v b = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(x[i], factor, 1);
    float2v c = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(x[i], factor, 2);
    float2v d = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(x[i], factor, 3);
    y[2 * i] = float4v{a.x, a.y, b.x, b.y};
    y[2 * i + 1] = float4v{c.x, c.y, d.x, d.y};
}
