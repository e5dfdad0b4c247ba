// Calls that HIP 6.5 to 7.2 added, found by name: the headers of this program may be older.
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "expect.h"

struct PeerCopy {
  hipArray_t from_array;
  hipPos from_position;
  hipPitchedPtr from;
  int from_device;
  hipArray_t to_array;
  hipPos to_position;
  hipPitchedPtr to;
  int to_device;
  hipExtent extent;
};
struct CopyAttributes {
  int order;
  hipMemLocation from, to;
  unsigned flags;
};
struct Operand {
  int type;
  void* address;
  size_t row_length, layer_height;
  hipMemLocation hint;
};
struct Copy3D {
  Operand from, to;
  hipExtent extent;
  int order;
  unsigned flags;
};
union AttributeValue {
  char bytes[64];
  int number;
  hipAccessPolicyWindow window;
};

template <class F> static F find(const char* name) {
  void* address = nullptr;
  hipDriverProcAddressQueryResult result;
  HIP(hipGetProcAddress(name, &address, 702, 0, &result));
  EXPECT(address && result == HIP_GET_PROC_ADDRESS_SUCCESS);
  return reinterpret_cast<F>(address);
}

__global__ void with_lds(int* out) {
  __shared__ int tile[1024];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// A box of 5 x 3 x 2 bytes from the middle of one volume to that of another.
static void copies_between_devices() {
  auto copy = find<hipError_t (*)(PeerCopy*)>("hipMemcpy3DPeer");
  auto copy_later = find<hipError_t (*)(PeerCopy*, hipStream_t)>("hipMemcpy3DPeerAsync");
  hipPitchedPtr a, b;
  hipExtent whole = make_hipExtent(16, 6, 4), box = make_hipExtent(5, 3, 2);
  HIP(hipMalloc3D(&a, whole));
  HIP(hipMalloc3D(&b, whole));
  for (int how = 0; how < 2; how++) {
    HIP(hipMemset3D(a, 7 + how, whole));
    HIP(hipMemset3D(b, 1, whole));
    PeerCopy p = {};
    p.from = a, p.to = b, p.from_position = make_hipPos(2, 1, 0), p.to_position = make_hipPos(3, 2, 1), p.extent = box;
    if (how) HIP(copy_later(&p, nullptr));
    else HIP(copy(&p));
    HIP(hipDeviceSynchronize());
    std::vector<char> seen(16 * 6 * 4);
    hipMemcpy3DParms back = {};
    back.srcPtr = b, back.dstPtr = make_hipPitchedPtr(seen.data(), 16, 16, 6), back.extent = whole, back.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3D(&back));
    for (int z = 0; z < 4; z++)
      for (int y = 0; y < 6; y++)
        for (int x = 0; x < 16; x++) {
          bool inside = x >= 3 && x < 8 && y >= 2 && y < 5 && z >= 1 && z < 3;
          EXPECT(seen[(z * 6 + y) * 16 + x] == (inside ? 7 + how : 1));
        }
    p.to_device = 99;
    EXPECT_ERROR(hipErrorInvalidDevice, copy(&p));
  }
  HIP(hipFree(a.ptr));
  HIP(hipFree(b.ptr));
}

static void batches() {
  auto copy = find<hipError_t (*)(void**, void**, size_t*, size_t, CopyAttributes*, size_t*, size_t, size_t*, hipStream_t)>("hipMemcpyBatchAsync");
  auto boxes = find<hipError_t (*)(size_t, Copy3D*, size_t*, unsigned long long, hipStream_t)>("hipMemcpy3DBatchAsync");
  auto prefetch = find<hipError_t (*)(void**, size_t*, size_t, hipMemLocation*, size_t*, size_t, unsigned long long, hipStream_t)>("hipMemPrefetchBatchAsync");
  int host[3] = {11, 22, 33}, seen[3] = {}, *device;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipMalloc(&device, sizeof host));
  void* to[] = {device, device + 2, seen};
  void* from[] = {host, host, device};
  size_t bytes[] = {12, 4, 12}, failed = 0, index[] = {0, 2};
  CopyAttributes attributes[2] = {{1, {}, {}, 0}, {2, {}, {}, 0}};
  HIP(copy(to, from, bytes, 3, attributes, index, 2, &failed, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT(seen[0] == 11 && seen[1] == 22 && seen[2] == 11);  // in order
  void* none[] = {device, nullptr, seen};
  EXPECT_ERROR(hipErrorInvalidValue, copy(to, none, bytes, 3, nullptr, nullptr, 0, &failed, stream));
  EXPECT(failed == 1);
  size_t much[] = {4, 16, 4};
  EXPECT_ERROR(hipErrorInvalidValue, copy(to, from, much, 3, nullptr, nullptr, 0, &failed, stream));
  EXPECT(failed == 1);
  index[0] = 1;
  EXPECT_ERROR(hipErrorInvalidValue, copy(to, from, bytes, 3, attributes, index, 2, &failed, stream));
  EXPECT(failed == SIZE_MAX);

  Copy3D box = {};
  box.from = {1, device, 4, 3, {}}, box.to = {1, seen, 4, 0, {}};
  box.extent = make_hipExtent(2, 3, 1), box.order = 1;  // the first two bytes of each dword
  HIP(hipMemset(device, 0x12, 12));
  HIP(boxes(1, &box, &failed, 0, stream));
  HIP(hipStreamSynchronize(stream));
  for (int value : seen) EXPECT(value == 0x1212);
  box.from.type = 2;  // an array
  EXPECT_ERROR(hipErrorNotSupported, boxes(1, &box, &failed, 0, stream));

  int* managed;
  HIP(hipMallocManaged(&managed, 4096));
  void* pointers[] = {managed, managed + 512};
  size_t sizes[] = {2048, 2048}, first = 0;
  hipMemLocation place = {hipMemLocationTypeDevice, 0};
  HIP(prefetch(pointers, sizes, 2, &place, &first, 1, 0, stream));
  place.id = 7;
  EXPECT_ERROR(hipErrorInvalidDevice, prefetch(pointers, sizes, 2, &place, &first, 1, 0, stream));
}

static void attributes_of_streams() {
  auto set = find<hipError_t (*)(hipStream_t, int, const AttributeValue*)>("hipStreamSetAttribute");
  auto get = find<hipError_t (*)(hipStream_t, int, AttributeValue*)>("hipStreamGetAttribute");
  auto copy = find<hipError_t (*)(hipStream_t, hipStream_t)>("hipStreamCopyAttributes");
  enum { WINDOW = 1, COOPERATIVE = 2, POLICY = 3, PRIORITY = 8 };
  hipStream_t a, b;
  AttributeValue value = {};
  int priority;
  HIP(hipStreamCreate(&a));
  HIP(hipStreamCreateWithPriority(&b, hipStreamDefault, -1));
  HIP(get(b, PRIORITY, &value));
  EXPECT(value.number == -1);
  HIP(get(a, POLICY, &value));
  EXPECT(value.number == 1);  // auto
  value.number = 4;           // blocking
  HIP(set(a, POLICY, &value));
  value.window = {&value, hipAccessPropertyPersisting, 0.5f, hipAccessPropertyStreaming, 64};
  HIP(set(a, WINDOW, &value));
  HIP(copy(b, a));
  value = {};
  HIP(get(b, WINDOW, &value));
  EXPECT(value.window.hitRatio == 0.5f && value.window.num_bytes == 64);
  HIP(get(b, POLICY, &value));
  HIP(hipStreamGetPriority(b, &priority));
  EXPECT(value.number == 4 && priority == 0);
  value.number = 9;
  EXPECT_ERROR(hipErrorInvalidValue, set(a, POLICY, &value));
  EXPECT_ERROR(hipErrorInvalidValue, get(a, COOPERATIVE, &value));
  EXPECT_ERROR(hipErrorInvalidValue, get(a, POLICY, nullptr));
}

static std::vector<char> compiled(const char* text) {
  hiprtcProgram program;
  size_t bytes;
  EXPECT(hiprtcCreateProgram(&program, text, "text.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
  EXPECT(hiprtcCompileProgram(program, 0, nullptr) == HIPRTC_SUCCESS);
  EXPECT(hiprtcGetCodeSize(program, &bytes) == HIPRTC_SUCCESS);
  std::vector<char> code(bytes);
  EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
  return code;
}

static void libraries() {
  auto load = find<hipError_t (*)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned)>("hipLibraryLoadData");
  auto load_file = find<hipError_t (*)(void**, const char*, void*, void**, unsigned, void*, void**, unsigned)>("hipLibraryLoadFromFile");
  auto unload = find<hipError_t (*)(void*)>("hipLibraryUnload");
  auto count_of = find<hipError_t (*)(unsigned*, void*)>("hipLibraryGetKernelCount");
  auto kernel_of = find<hipError_t (*)(void**, void*, const char*)>("hipLibraryGetKernel");
  auto list = find<hipError_t (*)(void**, unsigned, void*)>("hipLibraryEnumerateKernels");
  auto library_of = find<hipError_t (*)(void**, void*)>("hipKernelGetLibrary");
  auto name_of = find<hipError_t (*)(const char**, void*)>("hipKernelGetName");
  std::vector<char> code = compiled(
      "extern \"C\" __global__ void set(int* out, int value) { out[threadIdx.x] = value; }\n"
      "extern \"C\" __global__ void add(int* out, int value) { out[threadIdx.x] += value; }\n");
  void *library, *set, *add, *all[4] = {}, *owner;
  unsigned count;
  HIP(load(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  HIP(count_of(&count, library));
  HIP(kernel_of(&set, library, "set"));
  HIP(kernel_of(&add, library, "add"));
  HIP(list(all, 4, library));
  EXPECT(count == 2 && !all[2] && ((all[0] == set && all[1] == add) || (all[0] == add && all[1] == set)));
  const char* name;
  HIP(library_of(&owner, add));
  HIP(name_of(&name, add));
  EXPECT(owner == library && std::string(name) == "add");
  int *out, value = 5;
  HIP(hipMallocManaged(&out, 64 * sizeof *out));
  void* arguments[] = {&out, &value};
  HIP(hipLaunchKernel(set, dim3(1), dim3(64), arguments, 0, nullptr));  // as a host stub is
  HIP(hipModuleLaunchKernel(static_cast<hipFunction_t>(add), 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipDeviceSynchronize());
  EXPECT(out[63] == 10);
  EXPECT_ERROR(hipErrorNotFound, kernel_of(&set, library, "multiply"));
  EXPECT_ERROR(hipErrorFileNotFound, load_file(&owner, "no such file", nullptr, nullptr, 0, nullptr, nullptr, 0));
  HIP(unload(library));
  EXPECT_ERROR(hipErrorInvalidValue, count_of(&count, library));
}

static void occupancy() {
  auto room = find<hipError_t (*)(size_t*, const void*, int, int)>("hipOccupancyAvailableDynamicSMemPerBlock");
  auto kernel = reinterpret_cast<const void*>(with_lds);
  size_t bytes;
  int blocks;
  HIP(room(&bytes, kernel, 2, 1024));
  EXPECT(bytes == 65536 / 2 - 4096);
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, bytes));
  EXPECT(blocks == 2);
  HIP(room(&bytes, kernel, 1, 64));
  EXPECT(bytes == 65536 - 4096);
  EXPECT_ERROR(hipErrorInvalidValue, room(&bytes, kernel, 0, 64));
}

int main() {
  copies_between_devices();
  batches();
  attributes_of_streams();
  libraries();
  occupancy();
  void* address = &address;
  hipDriverProcAddressQueryResult result;
  EXPECT_ERROR(hipErrorInvalidValue, hipGetProcAddress("hipNoSuchCall", &address, 702, 0, &result));
  EXPECT(!address && result == HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  return pass();
}
