// Memory that two processes share: by handles of blocks, and by a pool whose descriptor the child inherits.
#include "expect.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

const int n = 3000;

__global__ void add(int* data, int amount) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += amount;
}
__global__ void wait_for(int* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != 1) __builtin_amdgcn_s_sleep(8);
}
__global__ void set(int* flag) { __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM); }

struct Message {
  hipIpcMemHandle_t block, inner, flag;
  hipMemPoolPtrExportData pooled;
};

static void all_are(const int* device, int value) {
  static int host[n];
  HIP(hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(host[i] == value);
}

// The other process: sees what the first one stored, adds to it, and releases its waiting kernel.
static int child(int descriptor) {
  Message m;
  EXPECT(read(STDIN_FILENO, &m, sizeof m) == sizeof m);
  int *block, *inner, *again, *flag, *pooled;
  HIP(hipIpcOpenMemHandle(reinterpret_cast<void**>(&block), m.block, hipIpcMemLazyEnablePeerAccess));
  HIP(hipIpcOpenMemHandle(reinterpret_cast<void**>(&inner), m.inner, hipIpcMemLazyEnablePeerAccess));
  HIP(hipIpcOpenMemHandle(reinterpret_cast<void**>(&flag), m.flag, hipIpcMemLazyEnablePeerAccess));
  EXPECT(inner == block + 100);
  hipPointerAttribute_t a;
  HIP(hipPointerGetAttributes(&a, block));
  EXPECT(a.type == hipMemoryTypeDevice);
  all_are(block, 5);
  add<<<(n + 63) / 64, 64>>>(block, 2);
  HIP(hipDeviceSynchronize());
  EXPECT_ERROR(hipErrorInvalidValue, hipMemset(block, 0, (n + 1) * sizeof(int)));  // no further than the block goes
  EXPECT_ERROR(hipErrorInvalidValue, hipFree(block));                              // it is the other's to free

  hipMemPool_t pool;
  HIP(hipMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                          hipMemHandleTypePosixFileDescriptor, 0));
  EXPECT_ERROR(hipErrorInvalidValue, hipMallocFromPoolAsync(reinterpret_cast<void**>(&again), 64, pool, nullptr));
  HIP(hipMemPoolImportPointer(reinterpret_cast<void**>(&pooled), pool, &m.pooled));
  all_are(pooled, 11);
  add<<<(n + 63) / 64, 64>>>(pooled, 1);
  HIP(hipFreeAsync(pooled, nullptr));
  HIP(hipMemPoolDestroy(pool));

  set<<<1, 1>>>(flag);
  HIP(hipDeviceSynchronize());
  HIP(hipIpcCloseMemHandle(block));
  HIP(hipIpcCloseMemHandle(inner));
  EXPECT_ERROR(hipErrorInvalidValue, hipIpcCloseMemHandle(inner));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemset(block, 0, 4));
  return 0;
}

int main(int count, char** arguments) {
  if (count > 1) return child(std::stoi(arguments[1]));
  int *block, *flag, *pooled, descriptor, pipe_ends[2], status;
  void* opened;
  HIP(hipMalloc(&block, n * sizeof(int)));
  HIP(hipMalloc(&flag, sizeof(int)));
  HIP(hipMemset(flag, 0, sizeof(int)));
  HIP(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(block), 4, n));
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned;
  properties.handleTypes = hipMemHandleTypePosixFileDescriptor;
  properties.location.type = hipMemLocationTypeDevice;
  hipMemPool_t pool;
  HIP(hipMemPoolCreate(&pool, &properties));
  HIP(hipMallocFromPoolAsync(reinterpret_cast<void**>(&pooled), n * sizeof(int), pool, nullptr));
  HIP(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(pooled), 11, n));
  Message m;
  HIP(hipMemPoolExportToShareableHandle(&descriptor, pool, hipMemHandleTypePosixFileDescriptor, 0));
  HIP(hipMemPoolExportPointer(&m.pooled, pooled));
  HIP(hipIpcGetMemHandle(&m.block, block));
  HIP(hipIpcGetMemHandle(&m.inner, block + 100));
  HIP(hipIpcGetMemHandle(&m.flag, flag));
  EXPECT_ERROR(hipErrorInvalidContext, hipIpcOpenMemHandle(&opened, m.block, hipIpcMemLazyEnablePeerAccess));
  EXPECT_ERROR(hipErrorInvalidValue, hipIpcGetMemHandle(&m.block, &status));
  EXPECT_ERROR(hipErrorOutOfMemory, hipMemPoolExportPointer(&m.pooled, &status));
  EXPECT_ERROR(hipErrorInvalidValue, hipMemPoolExportPointer(&m.pooled, nullptr));
  hipMemPoolPtrExportData of_no_pool;
  HIP(hipMemPoolExportPointer(&of_no_pool, block));  // AMD's runtime shares it by the handle of hipIpcGetMemHandle
  EXPECT(std::memcmp(&of_no_pool, &m.block, sizeof m.block) == 0);
  add<<<(n + 63) / 64, 64>>>(block, 1);  // after it was shared
  wait_for<<<1, 1>>>(flag);

  EXPECT(pipe(pipe_ends) == 0);
  std::string inherited = std::to_string(dup(descriptor));  // without close-on-exec
  pid_t other = fork();
  if (!other) {
    dup2(pipe_ends[0], STDIN_FILENO);
    execl("/proc/self/exe", "processes", inherited.c_str(), nullptr);
    _exit(127);
  }
  EXPECT(write(pipe_ends[1], &m, sizeof m) == sizeof m);
  EXPECT(waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  HIP(hipDeviceSynchronize());
  all_are(block, 7);
  all_are(pooled, 12);
  for (int k = 0; k < 3; k++) {  // the address may be used again
    HIP(hipFree(block));
    HIP(hipMalloc(&block, n * sizeof(int)));
    HIP(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(block), k, n));
    all_are(block, k);
  }
  hipEvent_t event;
  hipIpcEventHandle_t handle;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
  EXPECT_ERROR(hipErrorNotSupported, hipIpcGetEventHandle(&handle, event));
  return pass();
}
