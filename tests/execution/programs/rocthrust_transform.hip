// rocThrust is header-only: a transform and a sum of vectors on the device.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include <cstdio>

struct Doubled {
    __host__ __device__ int operator()(int x) const { return 2 * x; }
};

int main() {
    thrust::device_vector<int> values(1000);
    thrust::sequence(values.begin(), values.end());
    thrust::transform(values.begin(), values.end(), values.begin(), Doubled());
    int total = thrust::reduce(values.begin(), values.end());
    if (total != 999 * 1000) return std::printf("FAIL %d\n", total), 1;
    std::puts("PASS");
}
