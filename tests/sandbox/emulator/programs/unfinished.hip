// The process ends before a kernel does: what other kernels printed is not lost.
#include "expect.h"

__global__ void never_ends(volatile int* flag) {
  while (!*flag) __builtin_amdgcn_s_sleep(8);
}
__global__ void print() { printf("printed before the end\n"); }

int main() {
  int* flag;
  hipStream_t stream;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&flag), sizeof *flag, 0));
  *flag = 0;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  never_ends<<<1, 1, 0, stream>>>(flag);
  print<<<1, 1>>>();
  return pass();
}
