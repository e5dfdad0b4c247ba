"""Programs for the bundled vector_add: `x.bin y.bin z.bin n`."""

HEAD = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
std::vector<float> load(const char* name, int n) {
  std::vector<float> all(n);
  FILE* file = fopen(name, "rb");
  if (!file || fread(all.data(), 4, n, file) != (size_t)n) exit(9);
  fclose(file);
  return all;
}
void save(const char* name, const std::vector<float>& all) {
  FILE* file = fopen(name, "wb");
  fwrite(all.data(), 4, all.size(), file);
  fclose(file);
}
float* copied(const std::vector<float>& all) {
  float* there;
  hipMalloc(&there, all.size() * 4);
  hipMemcpy(there, all.data(), all.size() * 4, hipMemcpyHostToDevice);
  return there;
}
"""
MAIN = "int main(int count, char** words) {{ int n = atoi(words[4]); auto x = load(words[1], n); {body} }}\n"


def program(body: str) -> str:
    """A program with `n` and the array `x`, and this body of `main`."""
    return HEAD + MAIN.format(body=body)


RIGHT = program(
    """auto y = load(words[2], n);
  float *dx = copied(x), *dy = copied(y);
  add<<<(n + 255) / 256, 256>>>(dx, dy, dx, n);
  hipMemcpy(x.data(), dx, n * 4, hipMemcpyDeviceToHost);
  save(words[3], x);"""
)
BEYOND_THE_END = RIGHT.replace("if (i < n)", "if (i <= n)")
"""Right results, and a store behind the array."""
