// Kernels with one mistake each, and the same kernel with the cure that its finding names.
#include <hip/hip_runtime.h>

// The columns of a square tile are in one bank; cured by a swizzle of columns.
// mistake: LDS bank conflicts
// amdkernel: launch bank_conflicts grid=[32, 32] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void bank_conflicts(const float* x, float* y, int n)
{
    __shared__ float tile[64][64];
    for (int r = threadIdx.y; r < 64; r += 4)
        tile[r][threadIdx.x] = x[(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int turn = 0; turn < 4; turn++)
        for (int r = threadIdx.y; r < 64; r += 4)
            tile[threadIdx.x][r] = tile[threadIdx.x][r] * 0.5f + 1;
    __syncthreads();
    for (int r = threadIdx.y; r < 64; r += 4)
        y[(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + threadIdx.x] = tile[threadIdx.x][r];
}

// amdkernel: launch bank_conflicts_cured grid=[32, 32] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void bank_conflicts_cured(const float* x, float* y, int n)
{
    __shared__ float tile[64][64];
    for (int r = threadIdx.y; r < 64; r += 4)
        tile[r][threadIdx.x ^ r] = x[(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int turn = 0; turn < 4; turn++)
        for (int r = threadIdx.y; r < 64; r += 4)
            tile[threadIdx.x][r ^ threadIdx.x] = tile[threadIdx.x][r ^ threadIdx.x] * 0.5f + 1;
    __syncthreads();
    for (int r = threadIdx.y; r < 64; r += 4)
        y[(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + threadIdx.x] = tile[threadIdx.x][r ^ threadIdx.x];
}

// A thread for each row, so that neighbouring lanes are a row apart; cured by a wave for each row.
// mistake: Loads are not coalesced
// amdkernel: launch scattered_rows grid=[64] block=[256] args=[x, y]
extern "C" __global__ void scattered_rows(const float* x, float* y)
{
    int row = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < 256; c++)
        sum += x[row * 256 + c];
    y[row] = sum;
}

// amdkernel: launch scattered_rows_cured grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void scattered_rows_cured(const float* x, float* y)
{
    int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
    float sum = 0;
    for (int c = lane; c < 256; c += 64)
        sum += x[row * 256 + c];
    for (int step = 32; step; step /= 2)
        sum += __shfl_xor(sum, step);
    if (lane == 0)
        y[row] = sum;
}

// One of sixteen members of a structure; cured by an array of the member.
// mistake: Loads are not coalesced
// amdkernel: launch one_member grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void one_member(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i * 16 + 6] * 0.5f;
}

// amdkernel: launch one_member_cured grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void one_member_cured(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i] * 0.5f;
}

// A transpose that stores down the columns; cured by a tile in LDS.
// mistake: Stores are not coalesced
// amdkernel: launch stores_by_columns grid=[32, 512] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void stores_by_columns(const float* x, float* y, int n)
{
    int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    y[c * n + r] = x[r * n + c];
}

// amdkernel: launch stores_by_columns_cured grid=[32, 32] block=[64, 4] args=[x, y, 2048]
extern "C" __global__ void stores_by_columns_cured(const float* x, float* y, int n)
{
    __shared__ float tile[64][64];
    for (int r = threadIdx.y; r < 64; r += 4)
        tile[r][threadIdx.x ^ r] = x[(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 64; r += 4)
        y[(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + threadIdx.x] = tile[threadIdx.x][r ^ threadIdx.x];
}

// A product of matrices without any tile; cured by tiles in LDS.
// mistake: The same data is loaded many times
// amdkernel: launch no_tile grid=[64, 64] block=[16, 16] args=[x, y, 1024, 128]
extern "C" __global__ void no_tile(const float* x, float* y, int n, int depth)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < depth; k++)
        sum += x[r * depth + k] * x[k * n + c];
    y[r * n + c] = sum;
}

// amdkernel: launch no_tile_cured grid=[16, 16] block=[16, 16] args=[x, y, 1024, 128]
extern "C" __global__ __launch_bounds__(256) void no_tile_cured(const float* x, float* y, int n, int depth)
{
    __shared__ float a[16][68], b[16][64];
    float sums[4][4] = {};
    int at = threadIdx.y * 16 + threadIdx.x;
    for (int k = 0; k < depth; k += 16) {
        for (int i = at; i < 1024; i += 256) {
            a[i % 16][i / 16] = x[(blockIdx.y * 64 + i / 16) * depth + k + i % 16];
            b[i / 64][i % 64] = x[(k + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            float4 left = *(float4*)&a[i][threadIdx.y * 4], right = *(float4*)&b[i][threadIdx.x * 4];
            float l[4] = {left.x, left.y, left.z, left.w}, r[4] = {right.x, right.y, right.z, right.w};
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 4; q++)
                    sums[p][q] += l[p] * r[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++)
            y[(blockIdx.y * 64 + threadIdx.y * 4 + p) * n + blockIdx.x * 64 + threadIdx.x * 4 + q] = sums[p][q];
}

// A product whose tile gives two values of LDS for each multiplication; cured by four by four sums in registers.
// mistake: The bandwidth of the LDS bounds the kernel
// amdkernel: launch lds_for_each_product grid=[64, 64] block=[16, 16] args=[x, y, 1024, 128]
extern "C" __global__ void lds_for_each_product(const float* x, float* y, int n, int depth)
{
    __shared__ float a[16][17], b[16][16];
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < depth; k += 16) {
        a[threadIdx.y][threadIdx.x] = x[r * depth + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = x[(k + threadIdx.y) * n + c];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    y[r * n + c] = sum;
}

// amdkernel: launch lds_for_each_product_cured grid=[32, 32] block=[16, 16] args=[x, y, 1024, 128]
extern "C" __global__ void lds_for_each_product_cured(const float* x, float* y, int n, int depth)
{
    __shared__ float a[16][34], b[16][32];
    float sums[2][2] = {};
    int at = threadIdx.y * 16 + threadIdx.x;
    for (int k = 0; k < depth; k += 16) {
        for (int i = at; i < 512; i += 256) {
            a[i % 16][i / 16] = x[(blockIdx.y * 32 + i / 16) * depth + k + i % 16];
            b[i / 32][i % 32] = x[(k + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            float2 left = *(float2*)&a[i][threadIdx.y * 2], right = *(float2*)&b[i][threadIdx.x * 2];
            sums[0][0] += left.x * right.x, sums[0][1] += left.x * right.y;
            sums[1][0] += left.y * right.x, sums[1][1] += left.y * right.y;
        }
        __syncthreads();
    }
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++)
            y[(blockIdx.y * 32 + threadIdx.y * 2 + p) * n + blockIdx.x * 32 + threadIdx.x * 2 + q] = sums[p][q];
}

// Literals without f; cured by the f.
// mistake: The arithmetic is in double precision
// amdkernel: launch double_literals grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void double_literals(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 64; k++)
        v = v * 0.999 + 0.001 * k;
    y[i] = v;
}

// amdkernel: launch double_literals_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void double_literals_cured(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 64; k++)
        v = v * 0.999f + 0.001f * k;
    y[i] = v;
}

// Remainders by a value of run time; cured by a power of two.
// mistake: Integer divisions
// amdkernel: launch divisions grid=[1216] block=[256] args=[x, y, 4096]
extern "C" __global__ void divisions(const float* x, float* y, unsigned width)
{
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < 8; k++)
        sum += x[(i * 7 + k * 64) / width + (i + k * 64) % width];
    y[i] = sum;
}

// amdkernel: launch divisions_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void divisions_cured(const float* x, float* y)
{
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < 8; k++)
        sum += x[(i * 7 + k * 64) / 4096 + (i + k * 64) % 4096];
    y[i] = sum;
}

// Exact exponentials and powers of the math library; cured by the fast forms.
// mistake: Transcendental functions bound the kernel
// amdkernel: launch exact_powers grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void exact_powers(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i], sum = 0;
    for (int k = 0; k < 4; k++)
        sum += powf(v + k, 1.7f);
    y[i] = sum;
}

// amdkernel: launch exact_powers_cured grid=[1216] block=[256] args=[x, y]
extern "C" __global__ void exact_powers_cured(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i], sum = 0;
    for (int k = 0; k < 4; k++)
        sum += __expf(1.7f * __logf(v + k));
    y[i] = sum;
}

// Sixteen workgroups for a long row each; cured by many workgroups for parts of it.
// mistake: The launch cannot fill the GPU
// amdkernel: launch few_workgroups grid=[16] block=[256] args=[x, y]
extern "C" __global__ void few_workgroups(const float4* x, float* y)
{
    float sum = 0;
    for (int k = threadIdx.x; k < 65536; k += 256) {
        float4 v = x[blockIdx.x * 65536 + k];
        sum += v.x + v.y + v.z + v.w;
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

// amdkernel: launch few_workgroups_cured grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void few_workgroups_cured(const float4* x, float* y)
{
    float sum = 0;
    for (int k = threadIdx.x; k < 1024; k += 256) {
        float4 v = x[blockIdx.x * 1024 + k];
        sum += v.x + v.y + v.z + v.w;
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

// An atomic of each wave on one word; cured by one of each workgroup, of fewer workgroups.
// mistake: Atomics take turns on few addresses
// amdkernel: launch one_counter grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void one_counter(const float* x, float* y)
{
    float v = x[blockIdx.x * 256 + threadIdx.x];
    for (int step = 32; step; step /= 2)
        v += __shfl_xor(v, step);
    if (threadIdx.x % 64 == 0)
        unsafeAtomicAdd(y, v);
}

// amdkernel: launch one_counter_cured grid=[304] block=[256] args=[x, y]
extern "C" __global__ void one_counter_cured(const float* x, float* y)
{
    __shared__ float parts[4];
    float v = 0;
    for (int k = 0; k < 8; k++)
        v += x[(blockIdx.x * 8 + k) * 256 + threadIdx.x];
    for (int step = 32; step; step /= 2)
        v += __shfl_xor(v, step);
    if (threadIdx.x % 64 == 0)
        parts[threadIdx.x / 64] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        unsafeAtomicAdd(y, parts[0] + parts[1] + parts[2] + parts[3]);
}

// A thread in four works; cured by all of them.
// mistake: Many lanes are inactive
// amdkernel: launch idle_lanes grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void idle_lanes(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (threadIdx.x % 4)
        return;
    float v = x[i];
#pragma unroll 1
    for (int k = 0; k < 128; k++)
        v = fmaf(v, 0.99f, 0.5f);
    y[i] = v;
}

// amdkernel: launch idle_lanes_cured grid=[608] block=[256] args=[x, y]
extern "C" __global__ void idle_lanes_cured(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i];
#pragma unroll 1
    for (int k = 0; k < 128; k++)
        v = fmaf(v, 0.99f, 0.5f);
    y[i] = v;
}

// A byte of each lane; cured by sixteen bytes.
// mistake: Loads are narrow
// amdkernel: launch bytes_of_lanes grid=[16384] block=[256] args=[x, y]
extern "C" __global__ void bytes_of_lanes(const unsigned char* x, unsigned char* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i];
}

// amdkernel: launch bytes_of_lanes_cured grid=[1024] block=[256] args=[x, y]
extern "C" __global__ void bytes_of_lanes_cured(const uint4* x, uint4* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i];
}

// A wave waits for each load before it asks for the next; cured by eight at a time.
// mistake: Latency is exposed
// amdkernel: launch one_load_at_a_time grid=[304] block=[64] args=[x, y]
extern "C" __global__ void one_load_at_a_time(const float* x, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 128; k++)
        sum = fmaf(sum, 0.5f, x[i + k * 19456]);
    y[i] = sum;
}

// amdkernel: launch one_load_at_a_time_cured grid=[304] block=[64] args=[x, y]
extern "C" __global__ void one_load_at_a_time_cured(const float* x, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
#pragma unroll 16
    for (int k = 0; k < 128; k++)
        sum = fmaf(sum, 0.5f, x[i + k * 19456]);
    y[i] = sum;
}
