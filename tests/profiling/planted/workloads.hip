// Kernels as people write them for other work, and fine ones: written after the rules stood.
#include <hip/hip_fp16.h>

// NHWC to NCHW: stores of a wave go to 64 planes.
// planted: uncoalesced
// amdkernel: launch nhwc_to_nchw grid=[16384] block=[256] args=[x, y, 64, 65536]
extern "C" __global__ void nhwc_to_nchw(const float* x, float* y, int channels, int pixels)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int c = i & (channels - 1), p = i / channels;
    y[c * pixels + p] = x[i];
}

// An index is taken apart by sizes that are only known at run time.
// planted: integer_division
// amdkernel: launch unravel grid=[4096] block=[256] args=[x, y, 37, 113, 1048576]
extern "C" __global__ void unravel(const float* x, float* y, int w, int h, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int a = i % w, b = (i / w) % h, c = i / (w * h);
    int d = (a * 7 + b) % w, e = (b * 3 + c) % h;
    int f = (d + e * 5) % (w + h), g = (f + c) / (w - 1);
    int at = ((d + e + f + g) & 0) + i;
    y[i] = x[at] + (float)((d ^ e) & 1) + (float)(f & g);
}

// Blocks of one wave with 32 KiB of LDS each: two waves a CU, and each waits for memory.
// planted: occupancy
// amdkernel: launch few_waves grid=[4096] block=[64] args=[x, y]
extern "C" __global__ void few_waves(const float* x, float* y)
{
    __shared__ float keep[8192];
    int lane = threadIdx.x, base = blockIdx.x * 1024;
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
        keep[lane + k * 64] = x[base + k * 64 + lane];
        sum += keep[(lane ^ 1) + k * 64] * 1.5f;
        if (sum < -1e30f) keep[lane * 127] = 0;
    }
    y[blockIdx.x * 64 + lane] = sum;
}

// Odd threads do the expensive function, even ones the cheap one.
// planted: divergence
// amdkernel: launch odd_and_even grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void odd_and_even(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    if ((threadIdx.x & 7) == 3) {
        for (int k = 0; k < 200; ++k) v = v * 0.999f + 0.001f * v * v;
    } else {
        v = v + 1.0f;
    }
    y[i] = v;
}

// Blocks of 32 threads: half of each wave of 64 is empty.
// planted: partial_waves
// amdkernel: launch half_waves grid=[16384] block=[32] args=[x, y]
extern "C" __global__ void half_waves(const float* x, float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 128; ++k) v = v * 0.999f + 0.5f;
    y[i] = v;
}

// 48 workgroups walk over everything.
// planted: little_parallelism
// amdkernel: launch forty_eight grid=[48] block=[256] args=[x, y]
extern "C" __global__ void forty_eight(const float4* x, float4* y)
{
    for (int i = blockIdx.x * 256 + threadIdx.x; i < 1048576; i += 48 * 256) {
        float4 v = x[i];
        v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2;
        y[i] = v;
    }
}

// A gelu by powf and tanhf, with the accurate library functions, many times.
// planted: transcendental
// amdkernel: launch gelu_chain grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void gelu_chain(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 6; ++k) v = 0.5f * v * (1.f + tanhf(0.79788456f * (v + 0.044715f * powf(v, 3.0f))));
    y[i] = v;
}

// Sum of small rows by a tree in LDS with a barrier a step, 64 rows one after the other.
// planted: barriers
// amdkernel: launch tree_sums grid=[304] block=[1024] args=[x, y]
extern "C" __global__ void tree_sums(const float* x, float* y)
{
    __shared__ float part[1024];
    for (int row = 0; row < 12; ++row) {
        part[threadIdx.x] = x[((blockIdx.x * 12 + row) * 1024 + threadIdx.x) & 4194303];
        __syncthreads();
        for (int step = 512; step; step >>= 1) {
            if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
            __syncthreads();
        }
        if (threadIdx.x == 0) y[blockIdx.x * 12 + row] = part[0];
        __syncthreads();
    }
}

// Columns of a 64 x 64 tile in LDS are read by neighbouring lanes.
// planted: bank_conflict
// amdkernel: launch column_tile grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void column_tile(const float* x, float* y)
{
    __shared__ float tile[64][64];
    int base = blockIdx.x * 4096;
    for (int k = threadIdx.x; k < 4096; k += 256) tile[k >> 6][k & 63] = x[base + k];
    __syncthreads();
    for (int k = threadIdx.x; k < 4096; k += 256) {
        float s = tile[k & 63][k >> 6];
        s += tile[(k + 1) & 63][k >> 6] * 0.5f;
        y[base + k] = s;
    }
}

// Word counts: 8 bins in global memory.
// planted: atomics
// amdkernel: launch eight_bins grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void eight_bins(const float* x, unsigned* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int k = 0; k < 4; ++k) atomicAdd(&y[(int)(x[i * 4 + k] * 8) & 7], 1u);
}

// 8 bins in LDS.
// planted: lds_atomics
// amdkernel: launch eight_lds_bins grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void eight_lds_bins(const float4* x, unsigned* y)
{
    __shared__ unsigned bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 v = x[i], w = x[i + 524288];
    atomicAdd(&bins[(int)(v.x * 8) & 7], 1u); atomicAdd(&bins[(int)(v.y * 8) & 7], 1u);
    atomicAdd(&bins[(int)(v.z * 8) & 7], 1u); atomicAdd(&bins[(int)(v.w * 8) & 7], 1u);
    atomicAdd(&bins[(int)(w.x * 8) & 7], 1u); atomicAdd(&bins[(int)(w.y * 8) & 7], 1u);
    atomicAdd(&bins[(int)(w.z * 8) & 7], 1u); atomicAdd(&bins[(int)(w.w * 8) & 7], 1u);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&y[threadIdx.x], bins[threadIdx.x]);
}

// One workgroup of the grid sums a row that is a thousand times longer.
// planted: uneven
// amdkernel: launch ragged_rows grid=[2048] block=[64] args=[x, y]
extern "C" __global__ void ragged_rows(const float* x, float* y)
{
    int row = blockIdx.x, length = row == 77 ? 262144 : 256;
    float s = 0;
    for (int k = threadIdx.x; k < length; k += 64) s += x[(row * 1024 + k) & 4194303];
    for (int d = 32; d; d >>= 1) s += __shfl_xor(s, d);
    if (threadIdx.x == 0) y[row] = s;
}

// Standard deviation with pow and sqrt in double by a literal.
// planted: double_precision
// amdkernel: launch normalise grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void normalise(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 12; ++k) v = (v - 0.4997) * 1.0000001 / (0.2887 + 1e-5 * k);
    y[i] = v;
}

// control: memory, rmsnorm of rows of 4096 with wide loads and one pass
// amdkernel: launch wide_rmsnorm grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void wide_rmsnorm(const float4* x, float4* y)
{
    __shared__ float part[4];
    int base = blockIdx.x * 1024 + threadIdx.x;
    float4 v[4];
    float s = 0;
    for (int k = 0; k < 4; ++k) { v[k] = x[base + k * 256]; s += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w; }
    for (int d = 32; d; d >>= 1) s += __shfl_xor(s, d);
    if ((threadIdx.x & 63) == 0) part[threadIdx.x >> 6] = s;
    __syncthreads();
    float r = rsqrtf((part[0] + part[1] + part[2] + part[3]) / 4096.f + 1e-6f);
    for (int k = 0; k < 4; ++k) { v[k].x *= r; v[k].y *= r; v[k].z *= r; v[k].w *= r; y[base + k * 256] = v[k]; }
}

// control: memory, argmax by waves
// amdkernel: launch row_argmax grid=[4096] block=[64] args=[x, y]
extern "C" __global__ void row_argmax(const float4* x, unsigned* y)
{
    int base = blockIdx.x * 256;
    float best = -1; unsigned at = 0;
    for (int k = 0; k < 4; ++k) {
        float4 v = x[base + k * 64 + threadIdx.x]; unsigned b = (k * 64 + threadIdx.x) * 4;
        if (v.x > best) { best = v.x; at = b; } if (v.y > best) { best = v.y; at = b + 1; }
        if (v.z > best) { best = v.z; at = b + 2; } if (v.w > best) { best = v.w; at = b + 3; }
    }
    for (int d = 32; d; d >>= 1) { float o = __shfl_xor(best, d); unsigned p = __shfl_xor(at, d); if (o > best || (o == best && p < at)) { best = o; at = p; } }
    if (threadIdx.x == 0) y[blockIdx.x] = at;
}

// control: compute, mandelbrot of neighbours with like counts
// amdkernel: launch mandelbrot grid=[4864] block=[256] args=[y]
extern "C" __global__ void mandelbrot(float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float cx = (i & 1023) * 1e-6f, cy = (i >> 10) * 1e-6f, zx = 0, zy = 0;
    for (int k = 0; k < 256; ++k) { float t = zx * zx - zy * zy + cx; zy = 2 * zx * zy + cy; zx = t; }
    y[i & 4194303] = zx + zy;
}

// An f16 product with tiles in LDS and plain arithmetic.
// planted: matrix
// amdkernel: launch dot_product_gemm grid=[64, 16] block=[16, 16] args=[x, y, 1024]
extern "C" __global__ void dot_product_gemm(const __half* x, float* y, int n)
{
    __shared__ __half a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        a[threadIdx.y][threadIdx.x] = x[row * n + k + threadIdx.x];
        b[threadIdx.x][threadIdx.y] = x[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += __half2float(a[threadIdx.y][j]) * __half2float(b[threadIdx.x][j]);
        __syncthreads();
    }
    y[row * n + col] = sum;
}

// A 7 x 7 filter: each thread reads 49 values from global memory.
// planted: redundant
// amdkernel: launch filter_7x7 grid=[32, 512] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void filter_7x7(const float* x, float* y, int n)
{
    int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (c < 3 || r < 3 || c >= n - 3 || r >= n - 3) return;
    float s = 0;
    for (int i = -3; i <= 3; ++i)
        for (int j = -3; j <= 3; ++j) s += x[(r + i) * n + c + j] * (1.f / (1 + i * i + j * j));
    y[r * n + c] = s;
}

// Decode attention of one head by 8 workgroups.
// planted: little_parallelism
// amdkernel: launch one_head grid=[8] block=[256] args=[x, y]
extern "C" __global__ void one_head(const float4* x, float* y)
{
    __shared__ float part[256];
    float best = 0;
    for (int t = threadIdx.x; t < 8192; t += 256) {
        float s = 0;
        for (int d = 0; d < 16; ++d) { float4 k = x[(blockIdx.x * 8192 + t) * 16 % 1048576 + d]; s += k.x + k.y * 0.5f + k.z * 0.25f + k.w; }
        best = fmaxf(best, s);
    }
    part[threadIdx.x] = best;
    __syncthreads();
    if (threadIdx.x == 0) { for (int i = 1; i < 256; ++i) best = fmaxf(best, part[i]); y[blockIdx.x] = best; }
}

// 96 sums of each thread, chosen by the data.
// planted: scratch
// amdkernel: launch many_sums grid=[512] block=[256] args=[x, y]
extern "C" __global__ void many_sums(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float s[96];
    for (int k = 0; k < 96; ++k) s[k] = 0;
    for (int t = 0; t < 8; ++t) {
        float v = x[i + t * 131072];
        int at = (int)(v * 96.f) % 96;
        s[at] += v; s[(at + 17) % 96] -= v; s[(at + 51) % 96] *= 1.5f;
    }
    float r = 0;
    for (int k = 0; k < 96; ++k) r += s[k] * k;
    y[i] = r;
}

// Rows of 33 floats by a table of rows.
// planted: gather
// amdkernel: launch embed grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void embed(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int row = (int)(x[i] * 1000003.f) & 1048575;
    y[i] = x[row * 4] + x[row * 4 + 1];
}

// Records of 32 words in LDS, one for each lane.
// planted: bank_conflict
// amdkernel: launch wide_records grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void wide_records(const float* x, float* y)
{
    __shared__ float rec[256 * 32];
    for (int k = 0; k < 32; ++k) rec[threadIdx.x * 32 + k] = x[(blockIdx.x * 256 * 32 + k * 256 + threadIdx.x) & 4194303];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 32; ++k) s += rec[((threadIdx.x + 1) & 255) * 32 + k] * k;
    y[blockIdx.x * 256 + threadIdx.x] = s;
}

// Softmax of rows of 4096 by expf in three passes over global memory.
// planted: redundant
// amdkernel: launch three_pass_softmax grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void three_pass_softmax(const float* x, float* y)
{
    __shared__ float part[256];
    const float* row = x + blockIdx.x * 4096;
    float m = -1e30f, s = 0;
    for (int k = threadIdx.x; k < 4096; k += 256) m = fmaxf(m, row[k]);
    part[threadIdx.x] = m; __syncthreads();
    for (int d = 128; d; d >>= 1) { if (threadIdx.x < d) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]); __syncthreads(); }
    m = part[0]; __syncthreads();
    for (int k = threadIdx.x; k < 4096; k += 256) s += __expf(row[k] - m);
    part[threadIdx.x] = s; __syncthreads();
    for (int d = 128; d; d >>= 1) { if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d]; __syncthreads(); }
    s = 1 / part[0];
    for (int k = threadIdx.x; k < 4096; k += 256) y[blockIdx.x * 4096 + k] = __expf(row[k] - m) * s;
}

// One atomic for each element to a total.
// planted: atomics
// amdkernel: launch total_by_atomics grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void total_by_atomics(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (x[i] > 0.5f) atomicAdd(y + (i & 15), x[i]);
}

// One workgroup fits on a CU, and there are 40 more workgroups than CUs.
// planted: tail
// amdkernel: launch forty_more grid=[344] block=[1024] args=[x, y]
extern "C" __global__ __launch_bounds__(1024) void forty_more(const float* x, float* y)
{
    __shared__ float keep[12288];
    int i = blockIdx.x * 1024 + threadIdx.x;
    float v = x[i];
    keep[threadIdx.x * 12] = v;
    for (int k = 0; k < 2000; ++k) v = v * 0.9999f + 0.25f;
    y[i] = v + keep[threadIdx.x * 12];
}

// Binary search: lanes end at different times and load what the last value says.
// planted: gather
// amdkernel: launch binary_search grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void binary_search(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float want = x[i] * 4194304.f;
    int lo = 0, hi = 4194303;
    for (int k = 0; k < 22; ++k) { int mid = (lo + hi) >> 1; if ((float)mid + x[mid] < want) lo = mid; else hi = mid; }
    y[i] = lo;
}

// A switch of eight kinds by element: eight paths one after the other.
// planted: divergence
// amdkernel: launch eight_paths grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void eight_paths(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i], w = v;
    switch (i & 7) {
    case 0: for (int k = 0; k < 40; ++k) w = w * v + 0.1f; break;
    case 1: for (int k = 0; k < 40; ++k) w = w * w + 0.2f * v; break;
    case 2: for (int k = 0; k < 40; ++k) w = w - v * 0.3f * w; break;
    case 3: for (int k = 0; k < 40; ++k) w = w * 0.4f + v; break;
    case 4: for (int k = 0; k < 40; ++k) w = fmaxf(w * 1.1f, v); break;
    case 5: for (int k = 0; k < 40; ++k) w = fminf(w * 1.2f, v + k); break;
    case 6: for (int k = 0; k < 40; ++k) w = w + v * k; break;
    default: for (int k = 0; k < 40; ++k) w = w * v * v + 1; break;
    }
    y[i] = w;
}

// A row per thread of a small matrix: long rows and short columns.
// planted: uncoalesced
// amdkernel: launch row_per_thread_mean grid=[64] block=[256] args=[x, y]
extern "C" __global__ void row_per_thread_mean(const float4* x, float* y)
{
    int row = blockIdx.x * 256 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < 64; ++k) { float4 v = x[row * 64 + k]; s += v.x + v.y + v.z + v.w; }
    y[row] = s / 256;
}

// control: memory, dequantisation of int4 with 16 bytes a lane
// amdkernel: launch wide_int4 grid=[512] block=[256] args=[x, y]
extern "C" __global__ void wide_int4(const uint4* x, uint4* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    uint4 v = x[i];
    unsigned words[4] = {v.x, v.y, v.z, v.w};
    for (int w = 0; w < 4; ++w) {
        unsigned out[4];
        for (int k = 0; k < 4; ++k) {
            __half2 h = __floats2half2_rn((float)((words[w] >> (8 * k)) & 15) - 8.f, (float)((words[w] >> (8 * k + 4)) & 15) - 8.f);
            out[k] = *(unsigned*)&h;
        }
        y[i + w * 131072] = make_uint4(out[0], out[1], out[2], out[3]);
    }
}

// control: compute, an fft of 16 points in registers, several times
// amdkernel: launch butterflies grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void butterflies(const float* x, float* y)
{
    int i = (blockIdx.x * 256 + threadIdx.x) & 262143;
    float re[16];
    for (int k = 0; k < 16; ++k) re[k] = x[i + k * 262144];
    for (int t = 0; t < 24; ++t)
        for (int d = 8; d; d >>= 1)
            for (int k = 0; k < 16; ++k) if (!(k & d)) { float a = re[k], b = re[k + d] * 0.7071f; re[k] = a + b; re[k + d] = a - b; }
    for (int k = 0; k < 16; ++k) y[i + k * 262144] = re[k];
}

// control: memory, a transposed copy by 16 bytes through LDS with a swizzle
// amdkernel: launch swizzled_transpose grid=[32, 32] block=[16, 16] args=[x, y, 2048]
extern "C" __global__ void swizzled_transpose(const float4* x, float4* y, int n)
{
    __shared__ float tile[64][68];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int r = 0; r < 4; ++r) {
        float4 v = x[(blockIdx.y * 64 + ty + r * 16) * (n / 4) + blockIdx.x * 16 + tx];
        *(float4*)&tile[ty + r * 16][tx * 4] = v;
    }
    __syncthreads();
    for (int r = 0; r < 4; ++r) {
        int c = ty + r * 16;
        y[(blockIdx.x * 64 + c) * (n / 4) + blockIdx.y * 16 + tx] = make_float4(tile[tx * 4][c], tile[tx * 4 + 1][c], tile[tx * 4 + 2][c], tile[tx * 4 + 3][c]);
    }
}

// control: memory, a stream compaction flag by ballot
// amdkernel: launch ballots grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void ballots(const float4* x, unsigned long long* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 v = x[i];
    unsigned long long a = __ballot(v.x > 0.5f), b = __ballot(v.y > 0.5f), c = __ballot(v.z > 0.5f), d = __ballot(v.w > 0.5f);
    if ((threadIdx.x & 63) < 4) { int l = threadIdx.x & 63; y[(i >> 6) * 4 + l] = l == 0 ? a : l == 1 ? b : l == 2 ? c : d; }
}
