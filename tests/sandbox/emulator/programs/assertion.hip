// A failed assert in a kernel says where, for each thread of the workgroup, and the next wait fails.
#undef NDEBUG
#include "expect.h"

#include <cassert>

__global__ void check(int n) { assert(n < 5 && "too many"); }

int main() {
  check<<<1, 64>>>(3);
  HIP(hipDeviceSynchronize());
  check<<<1, 200>>>(7);
  EXPECT(hipDeviceSynchronize() != hipSuccess);
  return pass();
}
