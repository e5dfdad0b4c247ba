// What hipcc makes of ordinary kernels, checked against the host's own arithmetic. Prints "name=ok" or what differs.
#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

namespace cg = cooperative_groups;
#ifndef WAVE
#define WAVE 64 // lanes of a wave
#endif
#ifdef OCP // the 8-bit floats of the Open Compute Project, else those of CDNA3
typedef __hip_fp8_e4m3 Fp8;
typedef __hip_fp8_e5m2 Bf8;
#else
typedef __hip_fp8_e4m3_fnuz Fp8;
typedef __hip_fp8_e5m2_fnuz Bf8;
#endif
#define BOTH __host__ __device__
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

static int failures;

static void check(const char* name, hipError_t status, double error, double limit) {
  bool good = status == hipSuccess && error <= limit;
  failures += !good;
  printf("%s=%s (error %g of %g) %s\n", name, good ? "ok" : "WRONG", error, limit,
         status == hipSuccess ? "" : hipGetErrorString(status));
}

template <typename T> struct Device {
  T* at = nullptr;
  size_t count;
  explicit Device(size_t n) : count(n) { (void)hipMalloc(&at, n * sizeof(T)); }
  explicit Device(const std::vector<T>& v) : Device(v.size()) {
    (void)hipMemcpy(at, v.data(), count * sizeof(T), hipMemcpyHostToDevice);
  }
  ~Device() { (void)hipFree(at); }
  std::vector<T> back() const {
    std::vector<T> v(count);
    (void)hipMemcpy(v.data(), at, count * sizeof(T), hipMemcpyDeviceToHost);
    return v;
  }
};

static double ulps(float got, double expected) {
  if (std::isnan(expected) || std::isinf((float)expected))
    return std::isnan(expected) ? !std::isnan(got) * 1e9 : (got != (float)expected) * 1e9;
  double step = std::ldexp(1.0, std::max(std::ilogb(expected == 0 ? 1e-45 : expected), -126) - 23);
  return std::fabs(got - expected) / step;
}

static std::vector<float> numbers(size_t n, float low, float high) {
  std::vector<float> v(n);
  unsigned state = 1;
  for (auto& x : v) {
    state = state * 1664525u + 1013904223u;
    x = low + (high - low) * (state >> 8) / 16777216.0f;
  }
  return v;
}

// ---- functions of one number: f32 against the host's double ----

#define UNARY(X)                                                                                                     \
  X(sinf, sin, -1e4f, 1e4f, 4) X(cosf, cos, -1e6f, 1e6f, 4) X(tanf, tan, -10, 10, 6) X(expf, exp, -100, 88, 2)       \
  X(exp2f, exp2, -140, 127, 2) X(logf, log, 1e-30f, 1e30f, 2) X(log10f, log10, 1e-3f, 1e9f, 3)                       \
  X(log2f, log2, 1e-3f, 1e9f, 2) X(sqrtf, sqrt, 0, 1e30f, 0.5) X(cbrtf, cbrt, -100, 100, 2)                          \
  X(tanhf, tanh, -9, 9, 3) X(erff, erf, -3, 3, 4) X(asinf, asin, -1, 1, 4) X(acosf, acos, -1, 1, 4)                  \
  X(atanf, atan, -100, 100, 3) X(sinhf, sinh, -20, 20, 4) X(lgammaf, lgamma, 3, 50, 6) X(expm1f, expm1, -5, 5, 3)    \
  X(log1pf, log1p, -0.5f, 100, 3) X(rintf, rint, -100, 100, 0) X(floorf, floor, -100, 100, 0)

#define UNARY_KERNEL(f, d, low, high, limit) \
  __global__ void k_##f(const float* x, float* y) { y[ID] = f(x[ID]); }
UNARY(UNARY_KERNEL)

static void unary(const char* name, void (*k)(const float*, float*), double (*f)(double), float low, float high,
                  double limit) {
  auto x = numbers(1024, low, high);
  Device<float> in(x), out(x.size());
  k<<<x.size() / 128, 128>>>(in.at, out.at);
  hipError_t status = hipDeviceSynchronize();
  auto y = out.back();
  double worst = 0;
  for (size_t i = 0; i < x.size(); i++)
    worst = std::max(worst, ulps(y[i], f(x[i])));
  check(name, status, worst, limit);
}

__global__ void k_binary(const float* a, const float* b, float* y, int n) {
  int i = ID;
  float p = a[i], q = b[i];
  y[i] = p / q;
  y[n + i] = fmodf(p, q);
  y[2 * n + i] = powf(fabsf(p), q * 0.01f);
  y[3 * n + i] = atan2f(p, q);
  y[4 * n + i] = hypotf(p, q);
}
static void binary() {
  auto a = numbers(1024, -500, 500), b = numbers(1032, -20, 20);
  b.erase(b.begin(), b.begin() + 8);
  float extreme[][2] = {{1e38f, 1e-38f}, {1e-38f, 1e38f}, {3e38f, 2.9e38f}, {1e-44f, 3}, {1, 3e38f}, {0, 5}, {5, 0}};
  for (size_t i = 0; i < sizeof extreme / sizeof *extreme; i++)
    a[i] = extreme[i][0], b[i] = extreme[i][1];
  int n = a.size();
  Device<float> da(a), db(b), dy(5 * n);
  k_binary<<<n / 128, 128>>>(da.at, db.at, dy.at, n);
  hipError_t status = hipDeviceSynchronize();
  auto y = dy.back();
  double worst[5] = {};
  for (int i = 0; i < n; i++) {
    double p = a[i], q = b[i], e[] = {p / q, std::fmod(p, q), std::pow(std::fabs(p), (double)(b[i] * 0.01f)),
                                      std::atan2(p, q), std::hypot(p, q)};
    for (int k = 0; k < 5; k++)
      worst[k] = std::max(worst[k], ulps(y[k * n + i], e[k]));
  }
  check("divide", status, worst[0], 0.5);
  check("fmod", status, worst[1], 0);
  check("pow", status, worst[2], 4);
  check("atan2", status, worst[3], 4);
  check("hypot", status, worst[4], 3);
}

__global__ void k_double(const double* x, double* y, int n) {
  int i = ID;
  double v = x[i];
  y[i] = sin(v * 1e5) + cos(v);
  y[n + i] = exp(v) + log(fabs(v) + 1);
  y[2 * n + i] = pow(fabs(v), 1.3) + sqrt(fabs(v)) + cbrt(v);
  y[3 * n + i] = v / 3.7 + floor(v) + fma(v, v, v) + (double)(long long)(v * 1e9) + (double)(unsigned)fabs(v);
}
static void doubles() {
  auto f = numbers(1024, -30, 30);
  std::vector<double> x(f.begin(), f.end());
  int n = x.size();
  Device<double> in(x), out(4 * n);
  k_double<<<n / 64, 64>>>(in.at, out.at, n);
  hipError_t status = hipDeviceSynchronize();
  auto y = out.back();
  double worst = 0;
  for (int i = 0; i < n; i++) {
    double v = x[i], e[] = {std::sin(v * 1e5) + std::cos(v), std::exp(v) + std::log(std::fabs(v) + 1),
                            std::pow(std::fabs(v), 1.3) + std::sqrt(std::fabs(v)) + std::cbrt(v),
                            v / 3.7 + std::floor(v) + std::fma(v, v, v) + (double)(long long)(v * 1e9) +
                                (double)(unsigned)std::fabs(v)};
    for (int k = 0; k < 4; k++)
      worst = std::max(worst, std::fabs(y[k * n + i] - e[k]) / (1 + std::fabs(e[k])));
  }
  check("double", status, worst, 1e-15);
}

// ---- the same function on both sides, to the last bit ----

BOTH long long integers(int x, unsigned y, long long z) {
  long long r = x / 7 + x % 13 + (x >> 3) + (int)(y / ((unsigned)x | 1)) + (int)(y % 11u) + (int)(y << (x & 31));
  r += z / ((long long)x | 1) + z % ((long long)y | 1) + (z >> (x & 63)) + (z * z) + (long long)((unsigned long long)z / 10);
  r += (x < 0 ? -x : x) + (int)(((long long)x * x) >> 32) + (int)(((unsigned long long)y * y) >> 32);
  r ^= (short)x * (short)y + (signed char)x * (unsigned char)y;
  return r + (x > (int)y ? 3 : z < 0 ? 5 : 7);
}
__global__ void k_integers(const int* x, const unsigned* y, const long long* z, long long* r) {
  int i = ID;
  r[i] = integers(x[i], y[i], z[i]);
}
__global__ void k_bits(const unsigned* y, const long long* z, int* r) {
  int i = ID;
  r[i] = __clz(y[i]) + 100 * __popc(y[i]) + 10000 * __ffs(y[i]) + (int)(__brev(y[i]) & 0xff) * 1000000 + __clzll(z[i]) +
         __popcll(z[i]) + __mul24((int)y[i], 77) + (int)__umulhi(y[i], y[i]) + __mulhi((int)y[i], 12345);
}
BOTH int bits_on_host(unsigned y, long long z) {
  unsigned reversed = 0;
  for (int k = 0; k < 32; k++)
    reversed |= (y >> k & 1) << (31 - k);
  int low24 = (int)(y << 8) >> 8;
  return (y ? __builtin_clz(y) : 32) + 100 * __builtin_popcount(y) + 10000 * __builtin_ffs(y) +
         (int)(reversed & 0xff) * 1000000 + (z ? __builtin_clzll(z) : 64) + __builtin_popcountll(z) + low24 * 77 +
         (int)(((unsigned long long)y * y) >> 32) + (int)(((long long)(int)y * 12345) >> 32);
}
static void integer_kernels() {
  int n = 1024;
  std::vector<int> x(n);
  std::vector<unsigned> y(n);
  std::vector<long long> z(n);
  unsigned long long s = 88172645463325252ull;
  for (int i = 0; i < n; i++) {
    auto next = [&] { return s ^= s << 13, s ^= s >> 7, s ^= s << 17; };
    x[i] = (int)next(), y[i] = (unsigned)next() >> (i % 31), z[i] = (long long)next() >> (i % 63);
  }
  Device<int> dx(x), db(n);
  Device<unsigned> dy(y);
  Device<long long> dz(z), dr(n);
  k_integers<<<n / 256, 256>>>(dx.at, dy.at, dz.at, dr.at);
  k_bits<<<n / 256, 256>>>(dy.at, dz.at, db.at);
  hipError_t status = hipDeviceSynchronize();
  auto r = dr.back();
  auto b = db.back();
  int wrong = 0, wrong_bits = 0;
  for (int i = 0; i < n; i++) {
    wrong += r[i] != integers(x[i], y[i], z[i]);
    wrong_bits += b[i] != bits_on_host(y[i], z[i]);
  }
  check("integers", status, wrong, 0);
  check("bits", status, wrong_bits, 0);
}

// ---- small formats ----

__global__ void k_half(const __half* a, const __half* b, __half* r, __half2* p) {
  int i = ID;
  r[i] = __hadd(__hmul(a[i], b[i]), __float2half(__half2float(a[i]) * 0.5f));
  __half2 x = __halves2half2(a[i], b[i]);
  p[i] = __hfma2(x, x, __hadd2(x, x));
}
__global__ void k_bf16(const float* a, float* r) {
  __hip_bfloat16 x = __float2bfloat16(a[ID]);
  r[ID] = __bfloat162float(x);
}
__global__ void k_fp8(const float* a, unsigned char* e4, unsigned char* e5, float* back) {
  int i = ID;
  Fp8 x(a[i]);
  Bf8 y(a[i]);
  e4[i] = x.__x, e5[i] = y.__x;
  back[i] = (float)x + (float)y;
}
static void formats() {
  auto a = numbers(1024, -300, 300), c = numbers(1024, -2, 2);
  int n = a.size();
  for (int i = 0; i < 64; i++)
    a[i] = std::ldexp(c[i], i / 4 - 20);
  std::vector<__half> ha(n), hb(n);
  for (int i = 0; i < n; i++)
    ha[i] = __float2half(c[i]), hb[i] = __float2half(a[i] / 100);
  Device<__half> da(ha), db(hb), dr(n);
  Device<__half2> dp(n);
  Device<float> df(a), dback(n), dbf(n);
  Device<unsigned char> d4(n), d5(n);
  k_half<<<n / 64, 64>>>(da.at, db.at, dr.at, dp.at);
  k_bf16<<<n / 64, 64>>>(df.at, dbf.at);
  k_fp8<<<n / 64, 64>>>(df.at, d4.at, d5.at, dback.at);
  hipError_t status = hipDeviceSynchronize();
  auto r = dr.back();
  auto p = dp.back();
  auto bf = dbf.back(), back = dback.back();
  auto e4 = d4.back(), e5 = d5.back();
  double half_error = 0, pair_error = 0, bf_error = 0, fp8_wrong = 0;
  for (int i = 0; i < n; i++) {
    double x = __half2float(ha[i]), y = __half2float(hb[i]);
    half_error = std::max(half_error, std::fabs(__half2float(r[i]) - (x * y + x / 2)) / (1 + std::fabs(x * y)));
    pair_error = std::max(pair_error, std::fabs(__half2float(__low2half(p[i])) - (x * x + 2 * x)) / (1 + x * x));
    bf_error = std::max(bf_error, std::fabs(bf[i] - a[i]) / (std::fabs(a[i]) + 1e-30));
    Fp8 u(a[i]);
    Bf8 v(a[i]);
    fp8_wrong += u.__x != e4[i] || v.__x != e5[i] || back[i] != (float)u + (float)v;
  }
  check("half", status, half_error, 1.5e-3);
  check("half2", status, pair_error, 1.5e-3);
  check("bfloat16", status, bf_error, 1.0 / 256);
  check("fp8", status, fp8_wrong, 0);
}

// ---- workgroups ----

__global__ void k_atomics(int* a, unsigned* u, float* f, double* d, unsigned long long* l) {
  int i = ID;
  atomicAdd(a, 1), atomicMax(a + 1, i), atomicMin(a + 2, -i), atomicOr(a + 3, 1 << (i & 31)), atomicXor(a + 4, i);
  atomicAnd(a + 5, ~(1 << (i & 7))), atomicInc(u, 6), atomicDec(u + 1, 6);
  atomicAdd(f, 1.0f), unsafeAtomicAdd(f + 1, 0.5f), atomicAdd(d, 0.25), atomicAdd(l, 1ull << 33), atomicMax(l + 1, i);
  int old = a[6], seen;
  do {
    seen = old;
    old = atomicCAS(a + 6, seen, seen + 3);
  } while (old != seen);
}
static void atomics() {
  Device<int> a(std::vector<int>(7, 0));
  Device<unsigned> u(std::vector<unsigned>(2, 0));
  Device<float> f(std::vector<float>(2, 0));
  Device<double> d(std::vector<double>(1, 0));
  Device<unsigned long long> l(std::vector<unsigned long long>(2, 0));
  k_atomics<<<10, 100>>>(a.at, u.at, f.at, d.at, l.at);
  hipError_t status = hipDeviceSynchronize();
  auto va = a.back();
  auto vl = l.back();
  int x = 0;
  for (int i = 0; i < 1000; i++)
    x ^= i;
  int wrong = va[0] != 1000 || va[1] != 999 || va[2] != -999 || va[3] != -1 || va[4] != x || va[5] != 0 || va[6] != 3000;
  wrong += u.back()[0] != 1000 % 7 || u.back()[1] != (7 - 1000 % 7) % 7;
  wrong += f.back()[0] != 1000 || f.back()[1] != 500 || d.back()[0] != 250 || vl[0] != 1000ull << 33 || vl[1] != 999;
  check("atomics", status, wrong, 0);
}

__global__ void k_waves(const int* x, int* r, unsigned long long* m) {
  int v = x[ID], i = ID;
  int s = __shfl(v, 3) + 2 * __shfl_xor(v, 5) + 3 * __shfl_up(v, 1) + 5 * __shfl_down(v, 2, 16);
  m[i] = __ballot(v > 50);
  r[i] = s + 7 * __any(v > 98) + 11 * __all(v >= 0) + 13 * (int)__lane_id();
  if (v % 3 == 0)
    r[i] += 1000 * __builtin_popcountll(__ballot(1));
}
static void waves() {
  std::vector<int> x(256);
  for (int i = 0; i < 256; i++)
    x[i] = i * 37 % 101;
  Device<int> dx(x), dr(256);
  Device<unsigned long long> dm(256);
  k_waves<<<2, 128>>>(dx.at, dr.at, dm.at);
  hipError_t status = hipDeviceSynchronize();
  auto r = dr.back();
  auto m = dm.back();
  int wrong = 0;
  for (int i = 0; i < 256; i++) {
    int w = i / WAVE * WAVE, l = i % WAVE, any = 0, thirds = 0;
    unsigned long long ballot = 0;
    for (int k = 0; k < WAVE; k++)
      ballot |= (unsigned long long)(x[w + k] > 50) << k, any |= x[w + k] > 98, thirds += x[w + k] % 3 == 0;
    int s = x[w + 3] + 2 * x[w + (l ^ 5)] + 3 * x[l ? i - 1 : i] + 5 * x[l % 16 + 2 < 16 ? i + 2 : i];
    s += 7 * any + 11 + 13 * l + (x[i] % 3 == 0 ? 1000 * thirds : 0);
    wrong += m[i] != ballot || r[i] != s;
  }
  check("waves", status, wrong, 0);
}

__global__ void k_softmax(const float* x, float* y, int width) {
  __shared__ float part[32];
  extern __shared__ float row[];
  const float* p = x + blockIdx.x * width;
  float top = -1e30f, sum = 0;
  for (int j = threadIdx.x; j < width; j += blockDim.x)
    row[j] = p[j], top = fmaxf(top, row[j]);
  for (int o = warpSize / 2; o; o /= 2)
    top = fmaxf(top, __shfl_xor(top, o));
  if (threadIdx.x % warpSize == 0)
    part[threadIdx.x / warpSize] = top;
  __syncthreads();
  for (unsigned k = 0; k < blockDim.x / warpSize; k++)
    top = fmaxf(top, part[k]);
  for (int j = threadIdx.x; j < width; j += blockDim.x)
    sum += expf(row[j] - top);
  __syncthreads();
  auto tile = cg::tiled_partition<WAVE>(cg::this_thread_block());
  for (int o = WAVE / 2; o; o /= 2)
    sum += tile.shfl_down(sum, o);
  if (tile.thread_rank() == 0)
    part[threadIdx.x / warpSize] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned k = 0; k < blockDim.x / warpSize; k++)
    sum += part[k];
  for (int j = threadIdx.x; j < width; j += blockDim.x)
    y[blockIdx.x * width + j] = expf(row[j] - top) / sum;
}
static void softmax() {
  int rows = 5, width = 333;
  auto x = numbers(rows * width, -5, 5);
  Device<float> in(x), out(x.size());
  k_softmax<<<rows, 192, width * sizeof(float)>>>(in.at, out.at, width);
  hipError_t status = hipDeviceSynchronize();
  auto y = out.back();
  double worst = 0;
  for (int r = 0; r < rows; r++) {
    double sum = 0;
    for (int j = 0; j < width; j++)
      sum += std::exp((double)x[r * width + j]);
    for (int j = 0; j < width; j++)
      worst = std::max(worst, std::fabs(y[r * width + j] * sum / std::exp((double)x[r * width + j]) - 1));
  }
  check("softmax", status, worst, 1e-5);
}

template <int B> __global__ void k_matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[B][B + 1], bs[B][B + 1];
  float acc[4] = {};
  int tx = threadIdx.x, ty = threadIdx.y;
  for (int t = 0; t < n; t += B) {
    for (int q = 0; q < 4; q++) {
      as[ty * 4 + q][tx] = a[(blockIdx.y * B + ty * 4 + q) * n + t + tx];
      bs[ty * 4 + q][tx] = b[(t + ty * 4 + q) * n + blockIdx.x * B + tx];
    }
    __syncthreads();
    for (int k = 0; k < B; k++)
      for (int q = 0; q < 4; q++)
        acc[q] += as[ty * 4 + q][k] * bs[k][tx];
    __syncthreads();
  }
  for (int q = 0; q < 4; q++)
    c[(blockIdx.y * B + ty * 4 + q) * n + blockIdx.x * B + tx] = acc[q];
}
static void matmul() {
  int n = 96;
  auto a = numbers(n * n, -1, 1), b = numbers(n * n, -2, 1);
  Device<float> da(a), db(b), dc(n * n);
  k_matmul<32><<<dim3(n / 32, n / 32), dim3(32, 8)>>>(da.at, db.at, dc.at, n);
  hipError_t status = hipDeviceSynchronize();
  auto c = dc.back();
  double worst = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < n; k++)
        s += (double)a[i * n + k] * b[k * n + j];
      worst = std::max(worst, std::fabs(s - c[i * n + j]));
    }
  check("matmul", status, worst, 1e-4);
}

// ---- control flow, calls, private memory ----

BOTH int collatz(int x) {
  int steps = 0;
  for (long long v = x; v != 1 && steps < 500; steps++)
    v = v % 2 ? 3 * v + 1 : v / 2;
  return steps;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*const table[2])(int) = {twice, square};
__global__ void k_control(int* r, int n, int which) {
  int i = ID, local[40];
  if (i >= n)
    return;
  for (int k = 0; k < 40; k++)
    local[k] = (i * 7 + k * 13) % 41;
  for (int k = 0; k < 40; k++)
    local[local[k] % 40] += k;
  int sum = 0;
  for (int k = 0; k < 40; k++)
    sum += local[(k * i) % 40] * (k + 1);
  switch (i % 5) {
  case 0: sum += collatz(i + 1); break;
  case 1: sum -= collatz(i + 7); break;
  case 2: sum ^= 0x55; break;
  case 3: sum += fibonacci(i % 9); break;
  default: sum = table[(i / 5 + which) % 2](sum); break;
  }
  r[i] = sum;
}
static void control() {
  int n = 500;
  Device<int> dr(std::vector<int>(n, -1));
  k_control<<<4, 128>>>(dr.at, n, 1);
  hipError_t status = hipDeviceSynchronize();
  auto r = dr.back();
  int wrong = 0;
  std::function<int(int)> fib = [&](int k) { return k < 2 ? k : fib(k - 1) + fib(k - 2); };
  for (int i = 0; i < n; i++) {
    int local[40], sum = 0;
    for (int k = 0; k < 40; k++)
      local[k] = (i * 7 + k * 13) % 41;
    for (int k = 0; k < 40; k++)
      local[local[k] % 40] += k;
    for (int k = 0; k < 40; k++)
      sum += local[(k * i) % 40] * (k + 1);
    int odd = (i / 5 + 1) % 2;
    sum = i % 5 == 0 ? sum + collatz(i + 1) : i % 5 == 1 ? sum - collatz(i + 7) : i % 5 == 2 ? sum ^ 0x55
        : i % 5 == 3 ? sum + fib(i % 9) : odd ? sum * sum : 2 * sum;
    wrong += r[i] != sum;
  }
  check("control", status, wrong, 0);
}

struct Mixed { signed char a; unsigned char b; short c; unsigned short d; float e; double f; };
__global__ void k_structs(Mixed* m, float4* v, uchar4* c, short2* s) {
  int i = ID;
  Mixed x = m[i];
  m[i] = Mixed{(signed char)-x.a, (unsigned char)(x.b + 1), (short)(x.c * 2), (unsigned short)(x.d ^ 0xffff), x.e / 2, x.f * 3};
  v[i] = make_float4(v[i].w, v[i].z + 1, v[i].y * 2, v[i].x);
  c[i] = make_uchar4(c[i].w, c[i].z + 1, c[i].y, c[i].x);
  s[i].x += s[i].y;
}
static void structs() {
  int n = 128, wrong = 0;
  std::vector<Mixed> m(n);
  std::vector<float4> v(n);
  std::vector<uchar4> c(n);
  std::vector<short2> s(n);
  for (int i = 0; i < n; i++) {
    m[i] = Mixed{(signed char)(i - 64), (unsigned char)(3 * i), (short)(i * 99), (unsigned short)(i * 501), i * 0.5f, i * 0.1};
    v[i] = make_float4(i, 2 * i, 3 * i, 4 * i), c[i] = make_uchar4(i, i + 1, i + 2, i + 3), s[i] = make_short2(i, -3 * i);
  }
  Device<Mixed> dm(m);
  Device<float4> dv(v);
  Device<uchar4> dc(c);
  Device<short2> ds(s);
  k_structs<<<2, 64>>>(dm.at, dv.at, dc.at, ds.at);
  hipError_t status = hipDeviceSynchronize();
  auto m2 = dm.back();
  auto v2 = dv.back();
  auto c2 = dc.back();
  auto s2 = ds.back();
  for (int i = 0; i < n; i++) {
    wrong += m2[i].a != (signed char)-m[i].a || m2[i].b != (unsigned char)(m[i].b + 1) || m2[i].c != (short)(m[i].c * 2);
    wrong += m2[i].d != (m[i].d ^ 0xffff) || m2[i].e != m[i].e / 2 || m2[i].f != m[i].f * 3;
    wrong += v2[i].x != v[i].w || v2[i].y != v[i].z + 1 || c2[i].x != c[i].w || s2[i].x != (short)(s[i].x + s[i].y);
  }
  check("structs", status, wrong, 0);
}

// ---- waiting for others ----

__global__ void k_grid_barrier(volatile int* arrived, int* r, int groups) {
  __shared__ int before;
  if (threadIdx.x == 0) {
    atomicAdd((int*)arrived, 1);
    while (*arrived < groups)
      __builtin_amdgcn_s_sleep(1);
    before = *arrived;
  }
  __syncthreads();
  r[ID] = before;
}
__global__ void k_relay(volatile int* turn, int* order) { // waves of a workgroup take turns, the last wave first
  int wave = threadIdx.x / WAVE, last = blockDim.x / WAVE - 1;
  if (threadIdx.x % WAVE == 0) {
    while (*turn != last - wave)
      ;
    order[last - wave] = wave;
    __threadfence();
    *turn = last - wave + 1;
  }
}
static void waiting() {
  int groups = 24, wrong = 0;
  Device<int> arrived(std::vector<int>(1, 0)), r(groups * 64), turn(std::vector<int>(1, 0)), order(512 / WAVE);
  k_grid_barrier<<<groups, 64>>>(arrived.at, r.at, groups);
  k_relay<<<1, 512>>>(turn.at, order.at);
  hipError_t status = hipDeviceSynchronize();
  for (int x : r.back())
    wrong += x != groups;
  auto o = order.back();
  for (int k = 0; k < 512 / WAVE; k++)
    wrong += o[k] != 512 / WAVE - 1 - k;
  check("waiting", status, wrong, 0);
}

int main() {
#define UNARY_CHECK(f, d, low, high, limit) unary(#f, k_##f, [](double x) { return (double)std::d(x); }, low, high, limit);
  UNARY(UNARY_CHECK)
  binary();
  doubles();
  integer_kernels();
  formats();
  atomics();
  waves();
  softmax();
  matmul();
  control();
  structs();
  waiting();
  return failures != 0;
}
