// rocPRIM is header-only: a sum over the whole device.
#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>

#include <cstdio>

int main() {
    constexpr int count = 5000;
    int *in, *out;
    (void)hipMallocManaged(&in, count * sizeof *in);
    (void)hipMallocManaged(&out, sizeof *out);
    for (int i = 0; i < count; i++) in[i] = i;
    void* scratch = nullptr;
    size_t bytes = 0;
    (void)rocprim::reduce(scratch, bytes, in, out, 0, count, rocprim::plus<int>());
    (void)hipMalloc(&scratch, bytes);
    (void)rocprim::reduce(scratch, bytes, in, out, 0, count, rocprim::plus<int>());
    if (hipDeviceSynchronize() != hipSuccess || *out != count * (count - 1) / 2) return std::printf("FAIL %d\n", *out), 1;
    std::puts("PASS");
}
