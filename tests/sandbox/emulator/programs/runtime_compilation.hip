// hipRTC: compile a text, see the log of a wrong one, load the code, launch it by its lowered name.
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "expect.h"

#define RTC(call) EXPECT((call) == HIPRTC_SUCCESS)

static const char text[] = R"(
template <typename T> __global__ void scale(T* data, T factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + OFFSET;
}
)";

// Two texts to bitcode, linked into one code object.
static std::vector<char> bitcode(const char* source) {
  hiprtcProgram program;
  size_t bytes;
  const char* options[] = {"-fgpu-rdc"};
  RTC(hiprtcCreateProgram(&program, source, "part.hip", 0, nullptr, nullptr));
  RTC(hiprtcCompileProgram(program, 1, options));
  RTC(hiprtcGetBitcodeSize(program, &bytes));
  std::vector<char> code(bytes);
  RTC(hiprtcGetBitcode(program, code.data()));
  return code;
}

static void link() {
  std::vector<char> parts[] = {
      bitcode("__device__ int twice(int x) { return 2 * x; }"),
      bitcode("__device__ int twice(int x); extern \"C\" __global__ void fill(int* out) { out[threadIdx.x] = twice(threadIdx.x); }")};
  hipLinkState_t state;
  void* code;
  size_t bytes;
  HIP(hipLinkCreate(0, nullptr, nullptr, &state));
  for (auto& part : parts) HIP(hipLinkAddData(state, hipJitInputLLVMBitcode, part.data(), part.size(), "part", 0, nullptr, nullptr));
  HIP(hipLinkComplete(state, &code, &bytes));
  hipModule_t module;
  hipFunction_t fill;
  HIP(hipModuleLoadData(&module, code));
  HIP(hipModuleGetFunction(&fill, module, "fill"));
  int* out;
  HIP(hipMallocManaged(&out, 64 * sizeof *out));
  void* arguments[] = {&out};
  HIP(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(out[i] == 2 * i);
  HIP(hipLinkDestroy(state));
  EXPECT_ERROR(hipErrorInvalidHandle, hipLinkAddFile(nullptr, hipJitInputLLVMBitcode, "x", 0, nullptr, nullptr));
}

int main() {
  hiprtcProgram wrong, program;
  RTC(hiprtcCreateProgram(&wrong, "__global__ void broken() { int x = \"text\"; }", "wrong.hip", 0, nullptr, nullptr));
  EXPECT(hiprtcCompileProgram(wrong, 0, nullptr) == HIPRTC_ERROR_COMPILATION);
  size_t bytes = 0;
  RTC(hiprtcGetProgramLogSize(wrong, &bytes));
  std::string log(bytes, 0);
  RTC(hiprtcGetProgramLog(wrong, &log[0]));
  EXPECT(log.find("error") != std::string::npos);
  RTC(hiprtcDestroyProgram(&wrong));

  RTC(hiprtcCreateProgram(&program, text, "scale.hip", 0, nullptr, nullptr));
  RTC(hiprtcAddNameExpression(program, "scale<float>"));
  const char* options[] = {"-DOFFSET=1", "-O2"};
  RTC(hiprtcCompileProgram(program, 2, options));
  const char* name;
  RTC(hiprtcGetLoweredName(program, "scale<float>", &name));
  RTC(hiprtcGetCodeSize(program, &bytes));
  std::vector<char> code(bytes);
  RTC(hiprtcGetCode(program, code.data()));

  hipModule_t module;
  hipFunction_t function;
  HIP(hipModuleLoadData(&module, code.data()));
  HIP(hipModuleGetFunction(&function, module, name));
  float *data, factor = 3;
  int n = 100;
  HIP(hipMallocManaged(&data, n * sizeof(float)));
  for (int i = 0; i < n; i++) data[i] = i;
  void* arguments[] = {&data, &factor, &n};
  HIP(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; i++) EXPECT(data[i] == 3 * i + 1);
  RTC(hiprtcDestroyProgram(&program));
  HIP(hipModuleUnload(module));
  link();
  return pass();
}
