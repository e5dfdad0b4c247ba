// Times launches of two kernels, of several lengths, with events: one launch between two events. Prints a line for each:
// the kernel and its time in microseconds.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ void count_up(float *out, int rounds)
{
    float sum = out[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        sum = sum * 1.5f + 1;
    out[threadIdx.x] = sum;
}

__global__ void count_down(float *out, int rounds)
{
    float sum = out[threadIdx.x];
    for (int i = rounds; i > 0; i--)
        sum = sum * 0.5f - 1;
    out[threadIdx.x] = sum;
}

int main(int argc, char **argv)
{
    int samples = atoi(argv[1]);
    float *buffers;
    if (hipMalloc(&buffers, 4 * 1024) != hipSuccess)
        return 1;
    hipEvent_t start, stop;
    (void)hipEventCreate(&start);
    (void)hipEventCreate(&stop);
    for (int i = 0; i < samples; i++) {
        auto *kernel = i % 2 ? count_down : count_up;
        (void)hipEventRecord(start, 0);
        kernel<<<16, 64>>>(buffers + i / 2 % 4 * 64, 2000);
        (void)hipEventRecord(stop, 0);
        (void)hipEventSynchronize(stop);
        float ms = 0;
        if (hipEventElapsedTime(&ms, start, stop) != hipSuccess)
            return 1;
        printf("%d %.0f\n", i % 2, ms * 1e3);
    }
    return 0;
}
