// Kernels that behave, and kernels that the runner must see through.
#include <hip/hip_runtime.h>

#define ITEM (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
}

extern "C" __global__ void does_nothing(const float* a, const float* b, float* c, int n) {}

extern "C" __global__ void spoils_its_input(float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] + b[ITEM];
  if (ITEM == 7) a[7] = 0;
}

extern "C" __global__ void writes_beside(const float* a, const float* b, float* c, int n) {
  if (ITEM <= n) c[ITEM] = 1;
}

extern "C" __global__ void overruns_sooner_in_later_workgroups(const float* a, const float* b, float* c, int n) {
  volatile int left = static_cast<int>(gridDim.x - blockIdx.x) * 5000;
  while (left > 0) left -= 1;
  c[n + blockIdx.x] = 1;
}

extern "C" __global__ void reads_before(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[static_cast<int>(ITEM) - 2];
}

extern "C" __global__ void depends_on_addresses(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = static_cast<float>(reinterpret_cast<size_t>(a) >> 8 & 0xffff);
}

extern "C" __global__ void never_ends(const float* a, const float* b, volatile float* c, int n) {
  while (c[0] != 1) {
  }
}

extern "C" __global__ __launch_bounds__(128) void at_most_128(const float* a, const float* b, float* c, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM];
}

extern "C" __global__ void doubles_in_place(float* c, int n) {
  if (ITEM < n) c[ITEM] *= 2;
}

extern "C" __global__ void double_precision(const double* a, double* c, double factor, char shift, int n) {
  if (ITEM < n) c[ITEM] = a[ITEM] * factor + shift;
}
