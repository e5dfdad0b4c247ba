// malloc, new and free in kernels, from small to large, kept from one kernel to the next.
#include "expect.h"

__global__ void make(int** lists, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int length = 1 + i % 50;
  int* list = static_cast<int*>(malloc(length * sizeof(int)));
  for (int k = 0; list && k < length; k++) list[k] = i + k;
  lists[i] = list;
}

__global__ void sum(int** lists, int* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int length = 1 + i % 50, total = 0;
  for (int k = 0; k < length; k++) total += lists[i][k];
  sums[i] = total;
  free(lists[i]);
}

__global__ void large(int* ok) {
  char* block = static_cast<char*>(malloc(100000));
  if (block) {
    block[0] = 1;
    block[99999] = 2;
    ok[threadIdx.x] = block[0] + block[99999];
    free(block);
  }
}

int main() {
  const int n = 500;
  int **lists, *sums;
  HIP(hipMalloc(&lists, n * sizeof(int*)));
  HIP(hipMallocManaged(&sums, n * sizeof(int)));
  make<<<(n + 63) / 64, 64>>>(lists, n);
  sum<<<(n + 63) / 64, 64>>>(lists, sums, n);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; i++) {
    int length = 1 + i % 50;
    EXPECT(sums[i] == length * i + length * (length - 1) / 2);
  }
  large<<<1, 4>>>(sums);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 4; i++) EXPECT(sums[i] == 3);
  return pass();
}
