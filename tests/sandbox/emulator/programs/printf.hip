// printf in kernels: conversions, texts, several lanes in order, its value.
#include "expect.h"

__global__ void show(int* values) {
  int lane = threadIdx.x;
  if (lane < 3) values[lane] = printf("lane %d of %s: %5.2f %x %c %%|%-6d|%06d|%+d\n", lane, "a wave", 1.5 * lane, 255, 'a' + lane, lane, 42, 7);
  if (lane == 0) {
    printf("%lld %llu %hhd %lu %s %p\n", -5000000000ll, 18446744073709551615ull, (char)-3, 7ul,
           "a text that is longer than one packet of eight words can be", (void*)0x1234);
    printf("%*d|%-*d|%.*f\n", 5, 1, 4, 2, 1, 3.14159);
    printf("no argument\n");
  }
}

int main() {
  int* values;
  HIP(hipMallocManaged(&values, 3 * sizeof(int)));
  show<<<1, 64>>>(values);
  HIP(hipDeviceSynchronize());
#ifdef BUFFERED
  EXPECT(values[0] == 0);  // the text is made afterwards, so its length is not known
#else
  EXPECT(values[0] == values[2] && values[0] > 20);
#endif
  return pass();
}
