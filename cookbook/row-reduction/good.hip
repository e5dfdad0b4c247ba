// A wave a row; the lanes are added with DPP.
// amdkernel: launch row_sum grid=[ceil_div(rows, 4)] block=[256]
#include <hip/hip_runtime.h>

#if defined(__GFX9__)
constexpr int WAVE = 64;
#else
constexpr int WAVE = 32;
#endif

template <int CTRL, int ROWS = 0xf>
__device__ float moved(float v)
{
    return __builtin_bit_cast(
        float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, v), CTRL, ROWS, 0xf, false));
}

// The sum over all lanes, in all lanes. All lanes must be active.
__device__ float wave_sum(float v)
{
#if defined(__GFX9__)
    v += moved<0x111>(v);       // row_shr:1
    v += moved<0x112>(v);       // row_shr:2
    v += moved<0x114>(v);       // row_shr:4
    v += moved<0x118>(v);       // row_shr:8: lane 15 of each row has the row's sum
    v += moved<0x142, 0xa>(v);  // row_bcast:15, into rows 1 and 3
    v += moved<0x143, 0xc>(v);  // row_bcast:31, into rows 2 and 3: lane 63 has the total
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, v), 63));
#else
    v += moved<0x161>(v);  // row_xmask:1
    v += moved<0x162>(v);  // row_xmask:2
    v += moved<0x164>(v);  // row_xmask:4
    v += moved<0x168>(v);  // row_xmask:8: all 16 lanes of a row have its sum
    int bits = __builtin_bit_cast(int, v);
    return v + __builtin_bit_cast(
        float, __builtin_amdgcn_permlanex16(bits, bits, 0x76543210, 0xfedcba98, false, false));
#endif
}

extern "C" __global__ __launch_bounds__(256) void row_sum(const float* __restrict__ x, float* __restrict__ y, int rows,
                                                          int cols)
{
    int lane = threadIdx.x % WAVE, row = blockIdx.x * (256 / WAVE) + threadIdx.x / WAVE;
    if (row >= rows)
        return;  // the whole wave
    float sum = 0.0f;
    for (int c = lane; c < cols; c += WAVE)
        sum += x[(size_t)row * cols + c];
    sum = wave_sum(sum);
    if (lane == 0)
        y[row] = sum;
}
