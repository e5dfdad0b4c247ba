// Kernels that look suspicious and are fine.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

// control: memory, lanes of 8 bytes
// amdkernel: launch copy_pairs grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void copy_pairs(const float2* x, float2* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i];
}

// control: memory, lanes of 16 bytes
// amdkernel: launch copy_quads grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void copy_quads(const float4* x, float4* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i];
}

// control: memory, a guard that cuts off the last lanes
// amdkernel: launch guarded_copy grid=[1366] block=[256] args=[x, y, 349525]
extern "C" __global__ void guarded_copy(const float4* x, float4* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}

// control: compute, a polynomial with independent lanes
// amdkernel: launch polynomial grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void polynomial(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i], sum = 0;
#pragma unroll
    for (int k = 0; k < 96; k++)
        sum = fmaf(sum, v, 1.0f / (k + 1));
    y[i] = sum;
}

// control: compute, a recurrence with many waves
// amdkernel: launch recurrence grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void recurrence(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i], r = 3.0f + v * 0.5f;
    for (int k = 0; k < 64; k++)
        v = r * v * (1 - v);
    y[i] = v;
}

// control: compute, n bodies with a tile in LDS
// amdkernel: launch bodies grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void bodies(const float4* x, float4* y)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = x[i];
    float ax = 0, ay = 0, az = 0;
    if (threadIdx.x < 128)
        tile[threadIdx.x] = x[threadIdx.x * 9];
    __syncthreads();
    for (int k = 0; k < 48; k++) {
        float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
        float inverse = __frsqrt_rn(dx * dx + dy * dy + dz * dz + 0.01f);
        float force = tile[k].w * inverse * inverse * inverse;
        ax = fmaf(dx, force, ax), ay = fmaf(dy, force, ay), az = fmaf(dz, force, az);
    }
    y[i] = {ax, ay, az, me.w};
}

// control: memory, strided tiles whose lines are used completely
// amdkernel: launch strided_tiles grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void strided_tiles(const float* x, float* y)
{
    int column = (blockIdx.x & 15) * 256 + threadIdx.x, row = blockIdx.x >> 4;
    for (int k = 0; k < 8; k++) {
        int i = (row + 128 * k) * 4096 + column;
        y[i] = x[i] * 0.5f;
    }
}

// control: compute, a product of f32 matrices with a tile in LDS and 8 by 8 sums in registers
// amdkernel: launch tiled_product grid=[16, 38] block=[16, 16] args=[x, y, 2048, 64]
extern "C" __global__ __launch_bounds__(256) void tiled_product(const float* x, float* y, int n, int depth)
{
    __shared__ float a[8][128], b[8][128];
    int t = threadIdx.y * 16 + threadIdx.x;
    float sums[8][8] = {};
    for (int k = 0; k < depth; k += 8) {
        int row = t / 32, column = t % 32 * 4;
        *(float4*)&a[row][column] = *(const float4*)&x[(k + row) * n + blockIdx.y % 16 * 128 + column];
        *(float4*)&b[row][column] = *(const float4*)&x[(k + row) * n + blockIdx.x * 128 + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float left[8], right[8];
#pragma unroll
            for (int r = 0; r < 8; r++)
                left[r] = a[i][r / 4 * 64 + threadIdx.y * 4 + r % 4], right[r] = b[i][r / 4 * 64 + threadIdx.x * 4 + r % 4];
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    sums[r][c] = fmaf(left[r], right[c], sums[r][c]);
        }
        __syncthreads();
    }
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c += 4)
            *(float4*)&y[(blockIdx.y % 16 * 128 + r / 4 * 64 + threadIdx.y * 4 + r % 4) * n + blockIdx.x * 128 + c / 4 * 64 + threadIdx.x * 4] =
                {sums[r][c], sums[r][c + 1], sums[r][c + 2], sums[r][c + 3]};
}

// control: memory, a sum with wide loads and one atomic a workgroup
// amdkernel: launch sum_all grid=[608] block=[256] args=[x, y]
extern "C" __global__ void sum_all(const float4* x, float* y)
{
    __shared__ float parts[4];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < 1048576; i += 608 * 256) {
        float4 v = x[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int offset = 32; offset; offset /= 2)
        sum += __shfl_down(sum, offset);
    if (threadIdx.x % 64 == 0)
        parts[threadIdx.x / 64] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        unsafeAtomicAdd(y, parts[0] + parts[1] + parts[2] + parts[3]);
}

// control: memory, a histogram with counters of each wave in LDS
// amdkernel: launch own_counters grid=[608] block=[256] args=[x, y]
extern "C" __global__ void own_counters(const float4* x, unsigned* y)
{
    __shared__ unsigned counts[4][257];
    unsigned* mine = counts[threadIdx.x / 64];
    for (int b = threadIdx.x % 64; b < 256; b += 64)
        mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < 1048576; i += 608 * 256) {
        float4 v = x[i];
        atomicAdd(&mine[(unsigned)(v.x * 256) & 255], 1u);
        atomicAdd(&mine[(unsigned)(v.y * 256) & 255], 1u);
        atomicAdd(&mine[(unsigned)(v.z * 256) & 255], 1u);
        atomicAdd(&mine[(unsigned)(v.w * 256) & 255], 1u);
    }
    __syncthreads();
    unsigned all = counts[0][threadIdx.x] + counts[1][threadIdx.x] + counts[2][threadIdx.x] + counts[3][threadIdx.x];
    if (all)
        atomicAdd(&y[threadIdx.x], all);
}

// control: compute, double precision because the data are
// amdkernel: launch double_data grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void double_data(const double* x, double* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    double v = x[i], sum = 1;
    for (int k = 0; k < 32; k++)
        sum = fma(sum, v, 0.5);
    y[i] = sum;
}

// control: memory, a vector sum in double precision
// amdkernel: launch double_axpy grid=[2048] block=[256] args=[x, y]
extern "C" __global__ void double_axpy(const double2* x, double2* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    double2 a = x[i], b = x[i + 524288];
    y[i] = {fma(2.5, a.x, b.x), fma(2.5, a.y, b.y)};
}

// control: memory, a transpose through a padded tile
// amdkernel: launch padded_transpose grid=[32, 32] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void padded_transpose(const float* x, float* y, int n)
{
    __shared__ float tile[64][65];
    for (int r = threadIdx.y; r < 64; r += 4)
        tile[r][threadIdx.x] = x[(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 64; r += 4)
        y[(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + threadIdx.x] = tile[threadIdx.x][r];
}

// control: memory, a stencil over three rows whose halo is read twice
// amdkernel: launch three_rows grid=[8, 102] block=[64] args=[x, y]
extern "C" __global__ __launch_bounds__(64) void three_rows(const float4* x, float4* y)
{
    int i = (blockIdx.y * 20 + 1) * 512 + blockIdx.x * 64 + threadIdx.x;
    float4 rows[22];
#pragma unroll
    for (int r = 0; r < 22; r++)
        rows[r] = x[i + (r - 1) * 512];
#pragma unroll
    for (int r = 1; r < 21; r++) {
        float4 up = rows[r - 1], here = rows[r], down = rows[r + 1];
        y[i + (r - 1) * 512] = {here.x + up.x + down.x, here.y + up.y + down.y, here.z + up.z + down.z, here.w + up.w + down.w};
    }
}

// control: compute, matrix instructions on operands in registers
// amdkernel: launch matrix_units grid=[1216] block=[256] args=[x, y]
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef float Sums __attribute__((ext_vector_type(16)));
extern "C" __global__ void matrix_units(const Half4* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    Half4 a = x[i], b = x[i + 64];
    Sums sums[2] = {};
    for (int k = 0; k < 32; k++) {
        sums[0] = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums[0], 0, 0, 0);
        sums[1] = __builtin_amdgcn_mfma_f32_32x32x8f16(b, a, sums[1], 0, 0, 0);
    }
    float all = 0;
    for (int k = 0; k < 16; k++)
        all += sums[0][k] + sums[1][k];
    y[i] = all;
}

// control: memory, rows whose softmax needs an exponential per element
// amdkernel: launch softmax_rows grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void softmax_rows(const float4* x, float4* y)
{
    __shared__ float parts[4];
    float4 v[4];
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        v[k] = x[blockIdx.x * 1024 + k * 256 + threadIdx.x];
        v[k] = {__expf(v[k].x), __expf(v[k].y), __expf(v[k].z), __expf(v[k].w)};
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    for (int offset = 32; offset; offset /= 2)
        sum += __shfl_xor(sum, offset);
    if (threadIdx.x % 64 == 0)
        parts[threadIdx.x / 64] = sum;
    __syncthreads();
    sum = 1 / (parts[0] + parts[1] + parts[2] + parts[3]);
    for (int k = 0; k < 4; k++)
        y[blockIdx.x * 1024 + k * 256 + threadIdx.x] = {v[k].x * sum, v[k].y * sum, v[k].z * sum, v[k].w * sum};
}
