// hipCUB is header-only: a sum over one block.
#include <hip/hip_runtime.h>
#include <hipcub/hipcub.hpp>

#include <cstdio>

__global__ void sum(int* out) {
    using Reduce = hipcub::BlockReduce<int, 256>;
    __shared__ typename Reduce::TempStorage scratch;
    int total = Reduce(scratch).Sum(static_cast<int>(threadIdx.x));
    if (threadIdx.x == 0) *out = total;
}

int main() {
    int* out;
    (void)hipMallocManaged(&out, sizeof *out);
    sum<<<1, 256>>>(out);
    if (hipDeviceSynchronize() != hipSuccess || *out != 255 * 128) return std::printf("FAIL %d\n", *out), 1;
    std::puts("PASS");
}
