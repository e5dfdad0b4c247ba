// Host code with OpenMP: it checks what a kernel made, and its threads call HIP side by side, each with a stream.
#include <omp.h>
#include <unistd.h>

#include "expect.h"

constexpr int N = 1 << 16;

__global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}

static int wrong_elements(const float* y, float factor) {
  int wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (int i = 0; i < N; i++)
    wrong += y[i] != 1 + factor * i;
  return wrong;
}

static int run_on_a_stream(float factor) {
  float *x, *y;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipMallocManaged((void**)&x, N * sizeof *x));
  HIP(hipMallocManaged((void**)&y, N * sizeof *y));
#pragma omp simd
  for (int i = 0; i < N; i++) {
    x[i] = i;
    y[i] = 1;
  }
  saxpy<<<N / 256, 256, 0, stream>>>(factor, x, y, N);
  HIP(hipStreamSynchronize(stream));
  int wrong = wrong_elements(y, factor);
  HIP(hipFree(x));
  HIP(hipFree(y));
  HIP(hipStreamDestroy(stream));
  return wrong;
}

int main() {
  EXPECT(omp_get_max_threads() > 1 || sysconf(_SC_NPROCESSORS_ONLN) == 1);
  EXPECT(run_on_a_stream(2) == 0);

  int threads = 0, wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : threads, wrong)
  {
    threads += 1;
    for (int turn = 0; turn < 4; turn++)
      wrong += run_on_a_stream(2.0f + omp_get_thread_num());
  }
  EXPECT(threads == 4);
  EXPECT(wrong == 0);

  int most = 0;
#pragma omp parallel num_threads(1000)
#pragma omp single
  most = omp_get_num_threads();
  EXPECT(most > 4 && most < 1000); // the sandbox has no room for so many
  return pass();
}
