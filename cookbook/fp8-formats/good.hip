// Four bytes a thread through the conversion instruction; on gfx942 it reads FNUZ, half of the OCP value.
// amdkernel: launch decode grid=[ceil_div(n, 1024)] block=[256]
#include <hip/hip_runtime.h>

using float2v = __attribute__((ext_vector_type(2))) float;

// Four numbers of E4M3 in the OCP format.
__device__ void decode4(unsigned word, float scale, float (&out)[4])
{
#if defined(__gfx942__)
    scale *= 2.0f;
    unsigned magnitude = word & 0x7f7f7f7f;
    // A sign on a magnitude of zero would be FNUZ's NaN: drop it.
    unsigned nonzero = (magnitude + 0x7f7f7f7f) & 0x80808080;
    unsigned clean = magnitude | (word & nonzero);
    float2v low = __builtin_amdgcn_cvt_pk_f32_fp8(clean, false), high = __builtin_amdgcn_cvt_pk_f32_fp8(clean, true);
#else
    float2v low = __builtin_amdgcn_cvt_pk_f32_fp8(word, false), high = __builtin_amdgcn_cvt_pk_f32_fp8(word, true);
#endif
    float made[4] = {low.x, low.y, high.x, high.y};
    for (int e = 0; e < 4; e++) {
        out[e] = made[e] * scale;
#if defined(__gfx942__)
        if ((word >> 8 * e & 127) == 127)
            out[e] = NAN;
#endif
    }
}

extern "C" __global__ __launch_bounds__(256) void decode(const unsigned char* __restrict__ x, float* __restrict__ y, int n,
                                                         float scale)
{
    int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n)
        return;
    unsigned word = 0;
    if (i + 4 <= n)
        word = *(const unsigned*)(x + i);
    else
        for (int e = 0; i + e < n; e++)
            word |= x[i + e] << 8 * e;
    float out[4];
    decode4(word, scale, out);
    for (int e = 0; e < 4 && i + e < n; e++)
        y[i + e] = out[e];
}
