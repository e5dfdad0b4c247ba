// How lanes address global memory.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

// Each thread sums a row of its own, so neighbouring lanes are a row apart.
// planted: uncoalesced
// amdkernel: launch thread_per_row grid=[304] block=[128] args=[x, y, 96]
extern "C" __global__ void thread_per_row(const float* x, float* y, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += x[row * columns + c];
    y[row] = sum;
}

// A transpose that stores down the columns.
// planted: uncoalesced
// amdkernel: launch store_by_columns grid=[32, 512] block=[64, 4] args=[x, y, 2048, 2048]
extern "C" __global__ void store_by_columns(const float* x, float* y, int rows, int columns)
{
    int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    y[c * rows + r] = x[r * columns + c];
}

// One field of an array of structures: 4 of 64 bytes are used.
// planted: uncoalesced
// amdkernel: launch field_of_structures grid=[1024] block=[256] args=[x, y]
struct Particle { float position[3], velocity[3], mass, charge, rest[8]; };
extern "C" __global__ void field_of_structures(const Particle* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i].mass * 0.5f;
}

// A gather by a hash: every lane has a line of its own.
// planted: uncoalesced
// amdkernel: launch random_gather grid=[2432] block=[256] args=[x, y, 4194303]
extern "C" __global__ void random_gather(const float* x, float* y, unsigned mask)
{
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[(i * 2654435761u) & mask];
}

// Every fourth element: three quarters of every line are read for nothing.
// planted: uncoalesced
// amdkernel: launch every_fourth grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void every_fourth(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[4 * i] + 1;
}

// A copy of bytes, one per lane.
// planted: narrow
// amdkernel: launch copy_bytes grid=[16384] block=[256] args=[x, y]
extern "C" __global__ void copy_bytes(const unsigned char* x, unsigned char* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i];
}

// Three bytes of a pixel are loaded one by one.
// planted: narrow
// amdkernel: launch grey_of_pixels grid=[4096] block=[256] args=[x, y]
extern "C" __global__ void grey_of_pixels(const unsigned char* x, unsigned char* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = (77 * x[3 * i] + 150 * x[3 * i + 1] + 29 * x[3 * i + 2]) >> 8;
}

// Half precision, one number of two bytes per lane.
// planted: narrow
// amdkernel: launch scale_halves grid=[16384] block=[256] args=[x, y]
extern "C" __global__ void scale_halves(const __half* x, __half* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = __hmul(x[i], __float2half(0.5f));
}

// A product of matrices without any tile: each operand comes from global memory for each multiplication.
// planted: redundant
// amdkernel: launch untiled_product grid=[16, 64] block=[16, 16] args=[x, y, 1024, 128]
extern "C" __global__ void untiled_product(const float* x, float* y, int n, int depth)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < depth; k++)
        sum += x[r * depth + k] * x[k * n + c];
    y[r * n + c] = sum;
}

// Every workgroup walks over 16 MiB, each from another start: no cache keeps what is used again.
// planted: redundant
// amdkernel: launch passes_over_all grid=[608] block=[256] args=[x, y]
extern "C" __global__ void passes_over_all(const float4* x, float4* y)
{
    float4 sum = {0, 0, 0, 0};
    for (int k = 0; k < 48; k++) {
        float4 v = x[(blockIdx.x * 7919u * 256 + k * 21701u * 256 + threadIdx.x) & 1048575];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}

// A filter of 33 taps reads each element 33 times.
// planted: redundant
// amdkernel: launch filter_from_memory grid=[2432] block=[256] args=[x, y]
extern "C" __global__ void filter_from_memory(const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 33; k++)
        sum += x[i + k] * (0.5f + k);
    y[i] = sum;
}
