// A matrix product by MFMA, a reduction by shuffles and LDS, and lines of assembly, each against the host.
#include "expect.h"

#include <vector>

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));

// One wave makes 16x16 elements of C = A B, with A row by row and B column by column.
__global__ void product(const _Float16* a, const _Float16* b, float* c, int n, int k) {
  int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
  float4_ sum = {0, 0, 0, 0};
  for (int step = 0; step < k; step += 16) {
    half4 x = *reinterpret_cast<const half4*>(a + (row + lane % 16) * k + step + 4 * (lane / 16));
    half4 y = *reinterpret_cast<const half4*>(b + (column + lane % 16) * k + step + 4 * (lane / 16));
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; r++) c[(row + 4 * (lane / 16) + r) * n + column + lane % 16] = sum[r];
}

__global__ void reduce(const int* in, int* out, int n) {
  __shared__ int partial[16];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int offset = warpSize / 2; offset; offset /= 2) sum += __shfl_down(sum, offset);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < blockDim.x / warpSize; w++) sum += partial[w];
    atomicAdd(out, sum);
  }
}

__global__ void assembly(unsigned* data) {
  unsigned x = data[threadIdx.x], y;
  asm volatile("v_bfrev_b32 %0, %1\n\tv_add_u32 %0, 1, %0" : "=v"(y) : "v"(x));
  data[threadIdx.x] = y;
}

int main() {
  const int m = 48, n = 32, k = 64, count = 10000;
  _Float16 *a, *b;
  float* c;
  int *in, *out;
  unsigned* words;
  HIP(hipMallocManaged(&a, m * k * 2));
  HIP(hipMallocManaged(&b, n * k * 2));
  HIP(hipMallocManaged(&c, m * n * 4));
  HIP(hipMallocManaged(&in, count * 4));
  HIP(hipMallocManaged(&out, 4));
  HIP(hipMallocManaged(&words, 64 * 4));
  for (int i = 0; i < m * k; i++) a[i] = static_cast<_Float16>(i % 7 - 3);
  for (int i = 0; i < n * k; i++) b[i] = static_cast<_Float16>(i % 5 - 2);
  for (int i = 0; i < count; i++) in[i] = i;
  for (int i = 0; i < 64; i++) words[i] = i;
  *out = 0;
  product<<<dim3(n / 16, m / 16), 64>>>(a, b, c, n, k);
  reduce<<<7, 256>>>(in, out, count);
  assembly<<<1, 64>>>(words);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int s = 0; s < k; s++) sum += static_cast<float>(a[i * k + s]) * static_cast<float>(b[j * k + s]);
      EXPECT(c[i * n + j] == sum);
    }
  EXPECT(*out == count * (count - 1) / 2);
  EXPECT(words[1] == 0x80000001u && words[3] == 0xc0000001u);
  return pass();
}
