// Calls in device code: through pointers, recursive, virtual; and clocks that only go forward.
#include "expect.h"

typedef int (*Function)(int);
__device__ __noinline__ int add_one(int x) { return x + 1; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ Function functions[2] = {add_one, square};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Box : Shape {
  int width, height;
  __device__ Box(int w, int h) : width(w), height(h) {}
  __device__ int area() const override { return width * height; }
};

__global__ void call(int* out) {
  int lane = threadIdx.x;
  out[lane] = functions[lane % 2](lane);
  out[64 + lane] = fibonacci(lane % 12);
  Square s(lane);
  Box b(lane, 3);
  Shape* shape = lane % 3 ? static_cast<Shape*>(&s) : static_cast<Shape*>(&b);
  out[128 + lane] = shape->area();
}

__global__ void clocks(long long* out) {
  out[0] = clock64();
  out[1] = wall_clock64();
  for (int i = 0; i < 100; i++) __builtin_amdgcn_s_sleep(1);
  out[2] = clock64();
  out[3] = wall_clock64();
}

int main() {
  int* out;
  long long* times;
  HIP(hipMallocManaged(&out, 192 * sizeof(int)));
  HIP(hipMallocManaged(&times, 8 * sizeof(long long)));
  call<<<1, 64>>>(out);
  clocks<<<1, 1>>>(times);
  clocks<<<1, 1>>>(times + 4);
  HIP(hipDeviceSynchronize());
  int fibonacci[12] = {0, 1};
  for (int i = 2; i < 12; i++) fibonacci[i] = fibonacci[i - 1] + fibonacci[i - 2];
  for (int lane = 0; lane < 64; lane++) {
    EXPECT(out[lane] == (lane % 2 ? lane * lane : lane + 1));
    EXPECT(out[64 + lane] == fibonacci[lane % 12]);
    EXPECT(out[128 + lane] == (lane % 3 ? lane * lane : lane * 3));
  }
  EXPECT(times[0] < times[2] && times[1] < times[3] && times[2] < times[4] && times[3] <= times[5]);
  return pass();
}
