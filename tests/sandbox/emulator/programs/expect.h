// For every program here: it prints PASS and ends with 0, or prints the first failure and ends with 1.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP(call)                                                                             \
  do {                                                                                        \
    hipError_t e_ = (call);                                                                   \
    if (e_ != hipSuccess) {                                                                   \
      std::printf("FAIL line %d: %s: %s\n", __LINE__, #call, hipGetErrorName(e_));            \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

#define EXPECT(condition)                                                                     \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::printf("FAIL line %d: %s\n", __LINE__, #condition);                                \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

#define EXPECT_ERROR(error, call)                                                             \
  do {                                                                                        \
    hipError_t e_ = (call);                                                                   \
    if (e_ != (error)) {                                                                      \
      std::printf("FAIL line %d: %s: %s\n", __LINE__, #call, hipGetErrorName(e_));            \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

inline int pass() {
  std::printf("PASS\n");
  return 0;
}
