// A failed assert in a kernel prints its place for each thread of the workgroup; it, abort and trap are launch failures.
#undef NDEBUG
#include "expect.h"

#include <cassert>

__global__ void check(int n) { assert(n < 5 && "too many"); }

__global__ void abort_all() { abort(); }
__global__ void trap_all() { __builtin_trap(); }

int main() {
  check<<<1, 64>>>(3);
  HIP(hipDeviceSynchronize());
  check<<<1, 200>>>(7);
  EXPECT_ERROR(hipErrorLaunchFailure, hipDeviceSynchronize());
  HIP(hipDeviceReset());
  abort_all<<<1, 64>>>();
  EXPECT_ERROR(hipErrorLaunchFailure, hipDeviceSynchronize());
  HIP(hipDeviceReset());
  trap_all<<<1, 64>>>();
  EXPECT_ERROR(hipErrorLaunchFailure, hipDeviceSynchronize());
  return pass();
}
