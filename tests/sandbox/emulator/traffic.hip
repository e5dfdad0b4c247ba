// Kernels whose memory traffic can be worked out by hand; launched one after the other, see test_memory_model.py.
#include <hip/hip_runtime.h>

// ROCm Compute Profiler's vecCopy; it was recorded on real GPUs.
__global__ void copy(double* a, double* b, double* c, int n, int stride)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < n)
        c[id] = a[id];
}

// One workgroup reads the same n floats again and again.
__global__ void sweep(const float* x, float* y, int n, int passes)
{
    float sum = 0;
    for (int pass = 0; pass < passes; pass++) {
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            sum += x[i];
        asm volatile("" ::: "memory");
    }
    if (sum == 12345)
        *y = sum;
}

// A wave stores a column: 64 lines for 256 bytes.
__global__ void column(float* y, int rows)
{
    y[(size_t)(blockIdx.y * 64 + threadIdx.x) * rows + blockIdx.x] = 1;
}

// Workgroups share rows and columns through LDS and barriers.
__global__ void product(const float* a, const float* b, float* c, int n)
{
    __shared__ float as[16][16], bs[16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[y][x] = a[row * n + k + x];
        bs[x][y] = b[(k + y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += as[y][i] * bs[x][i];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

__global__ void count(const float* x, int* bins, int n)
{
    __shared__ int part[32];
    if (threadIdx.x < 32)
        part[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&part[(i / 2 * 7) % 32], 1 + (int)x[i]);
    __syncthreads();
    if (threadIdx.x < 32)
        atomicAdd(&bins[threadIdx.x], part[threadIdx.x]);
}

int main()
{
    const int n = 1 << 20, kib = 256; // floats of a KiB
    double *a, *c;
    if (hipMalloc(&a, 8 * n) || hipMalloc(&c, 8 * n) || hipMemset(a, 0, 8 * n) || hipMemset(c, 0, 8 * n))
        return 1;
    float *x = (float*)a, *y = (float*)c;
    copy<<<n / 256, 256>>>(a, nullptr, c, n, 1);
    copy<<<n / 256, 256>>>(a, nullptr, c, n, 1);
    sweep<<<1, 256>>>(x, y, 16 * kib, 2);
    sweep<<<1, 256>>>(x, y, 64 * kib, 2);
    sweep<<<1, 256>>>(x, y, 8192 * kib, 2);
    column<<<dim3(256, 4), 64>>>(y, 256);
    product<<<dim3(8, 8), dim3(16, 16)>>>(x, x + n, y, 128);
    count<<<16, 256>>>(x, (int*)y, 100000);
    sweep<<<1, 256>>>(x, y, 128 * kib, 2);
    return hipDeviceSynchronize();
}
