// Pointers that no kernel may follow: memory of the host that HIP does not know, null, and an address that nothing has.
#include "expect.h"

#include <cstdint>
#include <vector>

__global__ void store(int* to) { *to = 1; }

static void follow(int* to) {
  store<<<1, 1>>>(to);
  EXPECT_ERROR(hipErrorIllegalAddress, hipDeviceSynchronize());
  HIP(hipDeviceReset());
}

int main() {
  std::vector<int> small(16), large(1 << 20);
  int constant = 7;
  follow(small.data());
  follow(large.data());
  follow(&constant);
  follow(nullptr);
  follow(reinterpret_cast<int*>(uintptr_t{1} << 44));
  EXPECT(small[0] == 0 && large[0] == 0 && constant == 7);
  return pass();
}
