// A wave a row, 16 bytes a lane, the row in registers: up to 1024 columns in multiples of 8.
// amdkernel: launch layer_norm grid=[ceil_div(rows, 4)] block=[256]
#include <hip/hip_runtime.h>

#if defined(__GFX9__)
constexpr int WAVE = 64;
#else
constexpr int WAVE = 32;
#endif
constexpr int HELD = 1024 / (8 * WAVE);  // pieces of 8 columns a lane
using half8 = __attribute__((ext_vector_type(8))) _Float16;

__device__ float wave_sum(float v)
{
    for (int step = WAVE / 2; step > 0; step /= 2)
        v += __shfl_xor(v, step);
    return v;
}

extern "C" __global__ __launch_bounds__(256) void layer_norm(const _Float16* __restrict__ x, _Float16* __restrict__ y,
                                                             int rows, int cols)
{
    int lane = threadIdx.x % WAVE, row = blockIdx.x * (256 / WAVE) + threadIdx.x / WAVE;
    if (row >= rows)
        return;  // the whole wave
    const half8* in = (const half8*)(x + (size_t)row * cols);
    half8* out = (half8*)(y + (size_t)row * cols);
    half8 held[HELD];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; i++)
        held[i] = 8 * (lane + WAVE * i) < cols ? in[lane + WAVE * i] : half8(0);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        for (int e = 0; e < 8; e++)
            sum += (float)held[i][e];
    float mean = wave_sum(sum) / cols;
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (8 * (lane + WAVE * i) < cols)
            for (int e = 0; e < 8; e++)
                squares += ((float)held[i][e] - mean) * ((float)held[i][e] - mean);
    float scale = rsqrtf(wave_sum(squares) / cols + 1e-5f);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (8 * (lane + WAVE * i) < cols) {
            half8 made;
            for (int e = 0; e < 8; e++)
                made[e] = (_Float16)(((float)held[i][e] - mean) * scale);
            out[lane + WAVE * i] = made;
        }
}
