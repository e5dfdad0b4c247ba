// A host program as hipcc builds it for a GPU. Each argument names a scenario; what is seen is printed as NAME=VALUE.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#define SHOW(name, value) std::printf("%s=%lld\n", name, static_cast<long long>(value))
#define SHOW_TEXT(name, value) std::printf("%s=%s\n", name, value)

__device__ int counter = 5;
__constant__ float factors[4] = {1, 2, 3, 4};
__managed__ int shared_value = 40;

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void shape(int* out) {
  if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0) {
    out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
    out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
  }
}

__global__ void variables(float* out) {
  counter += 1;
  shared_value += 2;
  for (int i = 0; i < 4; i++) out[i] = factors[i];
}

__global__ __launch_bounds__(64) void narrow(int* out) { out[threadIdx.x] = 1; }

__global__ void dynamic_lds(int* out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void beyond(int* out, int n) { out[n + threadIdx.x] = 1; }

__global__ void printing() {
  for (int i = 0;; i++) printf("call%d=1\n", i);
}

__global__ void endless(volatile int* out) {
  while (out[0] == 0) {
  }
}

static void device() {
  int count = 0, value = 0;
  SHOW("count_error", hipGetDeviceCount(&count));
  SHOW("count", count);
  hipDeviceProp_t p;
  SHOW("properties", hipGetDeviceProperties(&p, 0));
  SHOW_TEXT("name", p.name);
  SHOW_TEXT("arch", p.gcnArchName);
  SHOW("warp", p.warpSize);
  SHOW("units", p.multiProcessorCount);
  SHOW("lds", p.sharedMemPerBlock);
  SHOW("threads", p.maxThreadsPerBlock);
  SHOW("revision_is_last", p.asicRevision);
  SHOW("other_device", hipGetDeviceProperties(&p, 1));
  (void)hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0);
  SHOW("attribute_warp", value);
  (void)hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0);
  SHOW("attribute_units", value);
  (void)hipRuntimeGetVersion(&value);
  SHOW("version_is_the_headers", value == HIP_VERSION);
}

static void memory() {
  std::vector<float> a(1000, 1.5f), b(1000, 0);
  float *d = nullptr, *e = nullptr, *pinned = nullptr, *managed = nullptr;
  size_t before = 0, after = 0, total = 0;
  (void)hipMemGetInfo(&before, &total);
  SHOW("malloc", hipMalloc(&d, 4000));
  SHOW("malloc_async", hipMallocAsync(&e, 4000, nullptr));
  (void)hipMemGetInfo(&after, &total);
  SHOW("in_use", before - after);
  SHOW("to_device", hipMemcpy(d, a.data(), 4000, hipMemcpyHostToDevice));
  SHOW("on_device", hipMemcpyAsync(e, d, 4000, hipMemcpyDeviceToDevice, nullptr));
  SHOW("to_host", hipMemcpy(b.data(), e, 4000, hipMemcpyDefault));
  SHOW("copied", a == b);
  SHOW("too_much", hipMemcpy(d, a.data(), 4004, hipMemcpyHostToDevice));
  SHOW("no_device_memory", hipMemcpy(a.data(), b.data(), 4, hipMemcpyHostToDevice));
  SHOW("memset", hipMemset(d, 0x3f, 4000));
  SHOW("memset_words", hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(e), 0x40000000, 1000));
  (void)hipMemcpyDtoH(b.data(), reinterpret_cast<hipDeviceptr_t>(e), 4000);
  SHOW("word", b[999] == 2.0f);
  SHOW("rows", hipMemcpy2D(b.data(), 80, d, 40, 40, 10, hipMemcpyDeviceToHost));
  unsigned bits;
  std::memcpy(&bits, &b[20], 4);
  SHOW("row", bits == 0x3f3f3f3f && b[10] == 2.0f);
  SHOW("host_malloc", hipHostMalloc(&pinned, 4096, 0));
  SHOW("managed_malloc", hipMallocManaged(&managed, 4096));
  hipPointerAttribute_t attributes;
  (void)hipPointerGetAttributes(&attributes, pinned);
  SHOW("pinned_type", attributes.type == hipMemoryTypeHost);
  (void)hipPointerGetAttributes(&attributes, d + 7);
  SHOW("device_type", attributes.type == hipMemoryTypeDevice);
  void* huge = nullptr;
  SHOW("huge", hipMalloc(&huge, 1ull << 50));
  SHOW("last_error", hipGetLastError());
  SHOW("last_error_again", hipGetLastError());
  SHOW("free", hipFree(d));
  SHOW("free_twice", hipFree(d));
  SHOW("free_null", hipFree(nullptr));
  SHOW("host_free", hipHostFree(pinned));
  SHOW_TEXT("error_name", hipGetErrorName(hipErrorOutOfMemory));
  SHOW_TEXT("error_text", hipGetErrorString(hipErrorIllegalAddress));
}

static void launch() {
  const int n = 1000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
  float *da, *db, *dc;
  (void)hipMalloc(&da, 4 * n), (void)hipMalloc(&db, 4 * n), (void)hipMalloc(&dc, 4 * n);
  (void)hipMemcpy(da, a.data(), 4 * n, hipMemcpyHostToDevice);
  (void)hipMemcpy(db, b.data(), 4 * n, hipMemcpyHostToDevice);
  hipEvent_t start, stop;
  (void)hipEventCreate(&start), (void)hipEventCreate(&stop);
  hipStream_t stream;
  SHOW("stream", hipStreamCreate(&stream));
  (void)hipEventRecord(start, stream);
  vector_add<<<(n + 255) / 256, 256, 0, stream>>>(da, db, dc, n);
  SHOW("launch", hipGetLastError());
  (void)hipEventRecord(stop, stream);
  SHOW("event", hipEventSynchronize(stop));
  float ms = -1;
  SHOW("elapsed_error", hipEventElapsedTime(&ms, start, stop));
  SHOW("elapsed", ms > 0);
  SHOW("synchronize", hipStreamSynchronize(stream));
  SHOW("destroy", hipStreamDestroy(stream));
  SHOW("destroyed", hipStreamSynchronize(stream));
  (void)hipMemcpy(c.data(), dc, 4 * n, hipMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += c[i] != 3.0f * i;
  SHOW("wrong", wrong);
  int *ds, s[64];
  (void)hipMalloc(&ds, sizeof s);
  shape<<<dim3(5, 4, 3), dim3(8, 4, 2)>>>(ds);
  SHOW("shape", hipMemcpy(s, ds, 24, hipMemcpyDeviceToHost));
  std::printf("dimensions=%d,%d,%d,%d,%d,%d\n", s[0], s[1], s[2], s[3], s[4], s[5]);
  dynamic_lds<<<1, 64, 256>>>(ds);
  (void)hipMemcpy(s, ds, sizeof s, hipMemcpyDeviceToHost);
  SHOW("dynamic_lds", s[0] * 100 + s[63]);
}

static void symbols() {
  float *out, got[4], replaced[2] = {20, 30};
  int value = 0;
  void* address = nullptr;
  size_t bytes = 0;
  (void)hipMalloc(&out, 16);
  SHOW("to_symbol", hipMemcpyToSymbol(HIP_SYMBOL(factors), replaced, 8, 4));
  SHOW("past_symbol", hipMemcpyToSymbol(HIP_SYMBOL(factors), replaced, 8, 12));
  variables<<<1, 1>>>(out);
  SHOW("ran", hipMemcpy(got, out, 16, hipMemcpyDeviceToHost));
  std::printf("factors=%g,%g,%g,%g\n", got[0], got[1], got[2], got[3]);
  SHOW("from_symbol", hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), 4));
  SHOW("counter", value);
  SHOW("managed", shared_value);
  SHOW("address", hipGetSymbolAddress(&address, HIP_SYMBOL(factors)));
  SHOW("size_error", hipGetSymbolSize(&bytes, HIP_SYMBOL(factors)));
  SHOW("size", bytes);
  SHOW("no_symbol", hipGetSymbolSize(&bytes, &value));
  hipFuncAttributes attributes;
  SHOW("function", hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(narrow)));
  SHOW("bounds", attributes.maxThreadsPerBlock);
  int blocks = 0, grid = 0, block = 0;
  SHOW("occupancy", hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic_lds, 256, 32768));
  SHOW("blocks", blocks);
  SHOW("potential", hipOccupancyMaxPotentialBlockSize(&grid, &block, vector_add, 0, 0));
  SHOW("potential_block", block > 0 && block % 64 == 0 && grid >= 304);
}

static hipError_t after(hipError_t launch) {
  hipError_t last = hipGetLastError();
  return launch == last ? launch : hipErrorUnknown;
}

static void rejected() {
  int* out;
  (void)hipMalloc(&out, 1 << 20);
  void* arguments[] = {&out};
  auto f = reinterpret_cast<const void*>(narrow);
  auto g = reinterpret_cast<const void*>(dynamic_lds);
  SHOW("no_grid", after(hipLaunchKernel(g, dim3(0), dim3(64), arguments, 0, nullptr)));
  SHOW("no_block", after(hipLaunchKernel(g, dim3(1), dim3(0), arguments, 0, nullptr)));
  SHOW("block_1025", after(hipLaunchKernel(g, dim3(1), dim3(1025), arguments, 0, nullptr)));
  SHOW("block_32_32_2", after(hipLaunchKernel(g, dim3(1), dim3(32, 32, 2), arguments, 0, nullptr)));
  SHOW("block_1024", after(hipLaunchKernel(g, dim3(1), dim3(1024), arguments, 4096, nullptr)));
  SHOW("lds_64k", after(hipLaunchKernel(g, dim3(1), dim3(64), arguments, 65536, nullptr)));
  SHOW("lds_64k_and_1", after(hipLaunchKernel(g, dim3(1), dim3(64), arguments, 65537, nullptr)));
  SHOW("launch_bounds", after(hipLaunchKernel(f, dim3(1), dim3(128), arguments, 0, nullptr)));
  SHOW("no_function", after(hipLaunchKernel(&out, dim3(1), dim3(64), arguments, 0, nullptr)));
  SHOW("too_wide", after(hipLaunchKernel(f, dim3(1u << 27), dim3(64), arguments, 0, nullptr)));
  SHOW("still_well", hipDeviceSynchronize());
}

static void fault() {
  int* out;
  (void)hipMalloc(&out, 4096);
  beyond<<<1, 64>>>(out, 1024);
  SHOW("launch", hipGetLastError());
  SHOW("synchronize", hipDeviceSynchronize());
  SHOW("last_error", hipGetLastError());
  SHOW("copy", hipMemcpy(out, out, 4, hipMemcpyDeviceToDevice));
  beyond<<<1, 64>>>(out, 0);
  SHOW("launch_after", hipGetLastError());
  SHOW("reset", hipDeviceReset());
  beyond<<<1, 64>>>(out, 0);
  SHOW("launch_after_reset", hipDeviceSynchronize());
}

static void hang() {
  int* out;
  (void)hipMalloc(&out, 4);
  (void)hipMemset(out, 0, 4);
  endless<<<1, 1>>>(out);
  SHOW("synchronize", hipDeviceSynchronize());
}

static void flood() {
  printing<<<1, 64>>>();
  SHOW("synchronize", hipDeviceSynchronize());
}

static void module(const char* path, const char* other) {
  hipModule_t m = nullptr;
  hipFunction_t f = nullptr;
  SHOW("load", hipModuleLoad(&m, path));
  SHOW("function", hipModuleGetFunction(&f, m, "triple"));
  SHOW("no_function", hipModuleGetFunction(&f, m, "quadruple"));
  (void)hipModuleGetFunction(&f, m, "triple");
  hipDeviceptr_t global;
  size_t bytes = 0;
  SHOW("global", hipModuleGetGlobal(&global, &bytes, m, "offset"));
  SHOW("global_bytes", bytes);
  SHOW("no_global", hipModuleGetGlobal(&global, &bytes, m, "triple"));
  int *d, h[64], seven = 7;
  (void)hipMalloc(&d, 256), (void)hipMemset(d, 0, 256);
  void* parameters[] = {&d, &seven};
  SHOW("parameters", hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  (void)hipMemcpy(h, d, 256, hipMemcpyDeviceToHost);
  SHOW("tripled", h[63]);
  struct {
    int* d;
    int n;
  } packed = {d, 8};
  size_t size = sizeof packed;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  SHOW("extra", hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  (void)hipMemcpy(h, d, 256, hipMemcpyDeviceToHost);
  SHOW("tripled_again", h[63]);
  size = sizeof packed.d;
  SHOW("short_buffer", hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  size = 0;
  SHOW("empty_buffer", hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  size = sizeof packed;
  SHOW("both", hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, extra));
  SHOW("unload", hipModuleUnload(m));
  SHOW("no_file", hipModuleLoad(&m, "no such file"));
  SHOW("other_arch", hipModuleLoad(&m, other));
  char garbage[4096] = "\177ELF no code object";
  SHOW("garbage", hipModuleLoadData(&m, garbage));
}

int main(int argc, char** argv) {
  const char* scenario = argv[1];
  if (!std::strcmp(scenario, "device")) device();
  if (!std::strcmp(scenario, "memory")) memory();
  if (!std::strcmp(scenario, "launch")) launch();
  if (!std::strcmp(scenario, "symbols")) symbols();
  if (!std::strcmp(scenario, "rejected")) rejected();
  if (!std::strcmp(scenario, "fault")) fault();
  if (!std::strcmp(scenario, "hang")) hang();
  if (!std::strcmp(scenario, "flood")) flood();
  if (!std::strcmp(scenario, "module") && argc > 3) module(argv[2], argv[3]);
  std::puts("end=1");
  return 0;
}
