// Written after the rules stood: what they say of these before any repair is in docs/metrics.md.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

// A matrix times a vector, a row per thread.
// planted: uncoalesced
// amdkernel: launch matrix_vector grid=[304] block=[64] args=[x, y, 200]
extern "C" __global__ void matrix_vector(const float* x, float* y, int columns)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < columns; c += 2)
        sum = fmaf(x[row * columns + c], x[c], fmaf(x[row * columns + c + 1], x[c + 1], sum));
    y[row] = sum;
}

// Sixteen words for each thread, one after the other.
// planted: bank_conflict
// amdkernel: launch words_of_a_thread grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void words_of_a_thread(const float* x, float* y)
{
    __shared__ float sums[256 * 16];
    for (int k = 0; k < 16; k++)
        sums[threadIdx.x * 16 + k] = x[blockIdx.x * 256 + threadIdx.x] * k;
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 16; k++)
        sum += sums[(threadIdx.x ^ 1) * 16 + k];
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

// A sum of fractions with a 1.0 that lacks its f.
// planted: double_precision
// amdkernel: launch gamma_curve grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void gamma_curve(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i] + 0.1f;
    double sum = 0;
    for (int k = 1; k < 12; k++)
        sum += 1.0 / (v + k);
    y[i] = sum;
}

// A counter that every wave increments by its own number of hits, eight times.
// planted: atomics
// amdkernel: launch count_hits grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void count_hits(const float* x, unsigned* y)
{
    for (int k = 0; k < 4; k++) {
        float v = x[(blockIdx.x * 256 + threadIdx.x + k * 622592) & 4194303];
        if (v > 0.5f)
            atomicAdd(y, 1u);
    }
}

// A ray marches until it hits: some lanes need ten times the steps.
// planted: divergence
// amdkernel: launch march grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void march(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float position = x[i], limit = position < 0.1f ? 80.0f : 8.0f, density = 0;
    while (position < limit) {
        density = fmaf(density, 0.98f, position * 0.01f);
        position += 0.5f;
    }
    y[i] = density;
}

// 304 workgroups of one wave each fill the CUs, 21 more come late; each has 60 KiB of LDS.
// planted: tail
// amdkernel: launch late_workgroups grid=[325] block=[256] args=[x, y]
extern "C" __global__ void late_workgroups(const float* x, float* y)
{
    __shared__ float table[15000];
    for (int k = threadIdx.x; k < 15000; k += 256)
        table[k] = x[k];
    __syncthreads();
    float sum = 0, other = 0;
    for (int k = threadIdx.x; k < 15000; k += 512)
        for (int j = 0; j < 4; j++)
            sum = fmaf(sum, 0.5f, table[k] * j), other = fmaf(other, 0.4f, table[k] + j);
    y[blockIdx.x * 256 + threadIdx.x] = sum + other;
}

// The next position comes from the value of the last one.
// planted: latency
// amdkernel: launch hash_chain grid=[608] block=[64] args=[x, y]
extern "C" __global__ void hash_chain(const unsigned* x, unsigned* y)
{
    unsigned at = (blockIdx.x * 64 + threadIdx.x) & 1023;
    for (int k = 0; k < 40; k++)
        at = (x[at] ^ k) & 4095;
    y[blockIdx.x * 64 + threadIdx.x] = at;
}

// Six launches, one for each time step of a small grid.
// planted: launches
// amdkernel: launch time_step grid=[16] block=[64] args=[x, y]
// amdkernel: launch time_step grid=[16] block=[64] args=[x, y]
// amdkernel: launch time_step grid=[16] block=[64] args=[x, y]
// amdkernel: launch time_step grid=[16] block=[64] args=[x, y]
// amdkernel: launch time_step grid=[16] block=[64] args=[x, y]
// amdkernel: launch time_step grid=[16] block=[64] args=[x, y]
extern "C" __global__ void time_step(const float* x, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x + 1;
    y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}

// control: memory, a reverse copy
// amdkernel: launch reverse_copy grid=[4096] block=[256] args=[x, y, 1048576]
extern "C" __global__ void reverse_copy(const float4* x, float4* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[n - 1 - i] = x[i];
}

// control: compute, Mandelbrot points that all stay inside
// amdkernel: launch inner_points grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void inner_points(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float a = x[i] * 0.1f, b = a * 0.5f, u = 0, v = 0;
    for (int k = 0; k < 64; k++) {
        float w = fmaf(u, u, a) - v * v;
        v = fmaf(2 * u, v, b);
        u = w;
    }
    y[i] = u + v;
}

// control: memory, a layer norm with two barriers and a root a row
// amdkernel: launch layer_norm grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void layer_norm(const float4* x, float4* y)
{
    __shared__ float parts[4];
    float4 v[2];
    float sum = 0;
    for (int k = 0; k < 2; k++) {
        v[k] = x[blockIdx.x * 512 + k * 256 + threadIdx.x];
        sum += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    for (int offset = 32; offset; offset /= 2)
        sum += __shfl_xor(sum, offset);
    if (threadIdx.x % 64 == 0)
        parts[threadIdx.x / 64] = sum;
    __syncthreads();
    float scale = rsqrtf((parts[0] + parts[1] + parts[2] + parts[3]) / 2048 + 1e-5f);
    for (int k = 0; k < 2; k++)
        y[blockIdx.x * 512 + k * 256 + threadIdx.x] = {v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale};
}

// control: compute, a sum of f64 data by a series
// amdkernel: launch double_series grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void double_series(const double* x, double* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    double v = x[i], term = 1, sum = 1;
    for (int k = 0; k < 20; k++) {
        term *= v;
        sum += term;
    }
    y[i] = sum;
}
