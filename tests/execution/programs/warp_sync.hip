// What HIP 7 brought and HIP 6.4 does not compile: __syncwarp, and shuffles of bfloat16.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void reversed_and_summed(int* reversed, float* sums) {
    __shared__ int lanes[64];
    int lane = threadIdx.x;
    lanes[lane] = lane;
    __syncwarp();
    reversed[lane] = lanes[63 - lane];
    __hip_bfloat16 value = __float2bfloat16(static_cast<float>(lane % 2));
    __hip_bfloat16 other = __shfl_xor(value, 1);
    sums[lane] = __bfloat162float(value) + __bfloat162float(other);
}

int main() {
    int* reversed;
    float* sums;
    (void)hipMallocManaged(&reversed, 64 * sizeof *reversed);
    (void)hipMallocManaged(&sums, 64 * sizeof *sums);
    reversed_and_summed<<<1, 64>>>(reversed, sums);
    if (hipDeviceSynchronize() != hipSuccess) return 1;
    for (int lane = 0; lane < 64; lane++)
        if (reversed[lane] != 63 - lane || sums[lane] != 1.0f) return std::printf("FAIL lane %d\n", lane), 1;
    std::puts("PASS");
}
