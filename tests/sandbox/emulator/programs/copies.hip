// Copies and fills in two and three dimensions, by the runtime's and by the driver's calls, with streams and symbols.
#include "expect.h"

#include <cstring>
#include <vector>

__device__ int table[8];

static void rows() {
  const int width = 13, height = 5;
  char source[height][20], target[height][17];
  for (int y = 0; y < height; y++)
    for (int x = 0; x < 20; x++) source[y][x] = static_cast<char>(y * 20 + x);
  char* device;
  size_t pitch;
  HIP(hipMallocPitch(reinterpret_cast<void**>(&device), &pitch, width, height));
  EXPECT(pitch >= width && pitch % 64 == 0);
  HIP(hipMemcpy2D(device, pitch, source, sizeof source[0], width, height, hipMemcpyHostToDevice));
  std::memset(target, 0, sizeof target);
  HIP(hipMemcpy2DAsync(target, sizeof target[0], device, pitch, width, height, hipMemcpyDeviceToHost, nullptr));
  HIP(hipDeviceSynchronize());
  for (int y = 0; y < height; y++) EXPECT(!std::memcmp(target[y], source[y], width) && target[y][width] == 0);
  EXPECT_ERROR(hipErrorInvalidPitchValue, hipMemcpy2D(device, width - 1, source, 20, width, height, hipMemcpyHostToDevice));

  hip_Memcpy2D p = {};
  p.srcMemoryType = hipMemoryTypeDevice, p.srcDevice = device, p.srcPitch = pitch, p.srcXInBytes = 2, p.srcY = 1;
  p.dstMemoryType = hipMemoryTypeHost, p.dstHost = target, p.dstPitch = sizeof target[0];
  p.WidthInBytes = 4, p.Height = 2;
  HIP(hipMemcpyParam2D(&p));
  EXPECT(target[0][0] == source[1][2] && target[1][3] == source[2][5]);
  HIP(hipMemset2D(device, pitch, 9, 3, height));
  HIP(hipMemcpy2D(target, sizeof target[0], device, pitch, width, height, hipMemcpyDeviceToHost));
  EXPECT(target[4][2] == 9 && target[4][3] == source[4][3]);
}

static void boxes() {
  const size_t width = 7, height = 4, depth = 3;
  std::vector<char> source(width * height * depth), target(source.size());
  for (size_t i = 0; i < source.size(); i++) source[i] = static_cast<char>(i);
  hipPitchedPtr box;
  HIP(hipMalloc3D(&box, make_hipExtent(width, height, depth)));
  hipMemcpy3DParms in = {};
  in.srcPtr = make_hipPitchedPtr(source.data(), width, width, height);
  in.dstPtr = box;
  in.extent = make_hipExtent(width, height, depth);
  in.kind = hipMemcpyHostToDevice;
  HIP(hipMemcpy3D(&in));
  HIP(hipMemset3D(box, 77, make_hipExtent(1, 1, depth)));
  hipMemcpy3DParms out = {};
  out.srcPtr = box;
  out.srcPos = make_hipPos(0, 1, 0);
  out.dstPtr = make_hipPitchedPtr(target.data(), width, width, height);
  out.extent = make_hipExtent(width, 2, depth);
  out.kind = hipMemcpyDeviceToHost;
  HIP(hipMemcpy3DAsync(&out, nullptr));
  HIP(hipDeviceSynchronize());
  for (size_t z = 0; z < depth; z++)
    for (size_t y = 0; y < 2; y++)
      for (size_t x = 0; x < width; x++)
        EXPECT(target[(z * height + y) * width + x] == source[(z * height + y + 1) * width + x]);
  char corner;
  HIP(hipMemcpy(&corner, static_cast<char*>(box.ptr) + 2 * box.pitch * box.ysize, 1, hipMemcpyDeviceToHost));
  EXPECT(corner == 77);
}

static void symbols() {
  int values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {};
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  HIP(hipMemcpyToSymbolAsync(HIP_SYMBOL(table), values, sizeof values, 0, hipMemcpyHostToDevice, stream));
  HIP(hipMemcpyFromSymbolAsync(back, HIP_SYMBOL(table), 12, 8, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  EXPECT(back[0] == 3 && back[2] == 5 && back[3] == 0);
  EXPECT_ERROR(hipErrorInvalidValue, hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values, 4, hipMemcpyHostToDevice));
}

int main() {
  rows();
  boxes();
  symbols();
  unsigned short words[6];
  void* device;
  HIP(hipMalloc(&device, sizeof words));
  HIP(hipMemsetD16(device, 0x1234, 6));
  HIP(hipMemcpyDtoH(words, device, sizeof words));
  EXPECT(words[0] == 0x1234 && words[5] == 0x1234);
  return pass();
}
