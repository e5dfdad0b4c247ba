"""Kernels whose resources and lines are known."""

SAXPY = """\
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""
# 1000 floats in LDS; two rounded waves of 64 lanes.
REVERSE = """\
extern "C" __global__ void __launch_bounds__(128) reverse(float* x) {
  __shared__ float part[1000];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = expf(part[127 - threadIdx.x]);
}
"""
# An array that is indexed by data has to lie in scratch.
LOOKUP = """\
extern "C" __global__ void lookup(float* out, const int* at) {
  float table[64];
  for (int i = 0; i < 64; i++) table[i] = out[i];
  for (int i = 0; i < 64; i++) table[at[i] & 63] += out[i];
  float sum = 0;
  for (int i = 0; i < 64; i++) sum += table[at[i + 64] & 63] * i;
  out[threadIdx.x] = sum;
}
"""
