/* What is wrong with a copy, a fill or a release of the program itself (option `check`). */
#ifndef AMDKERNEL_HIP_CALL_REPORT_H
#define AMDKERNEL_HIP_CALL_REPORT_H

#include "hip/runtime/runtime.h"
#include "checks/races/overlap.h"

/* One JSON line with the place of the call in the program. `other`: work that it races with, or NULL. */
void report_call(const char *what, const char *kind, u64 address, u64 bytes, bool store, const Overlapping *other);
/* The same for a range that leaves its block, or is in one that was freed; nothing for any other range. */
void report_bad_range(const char *what, const void *pointer, u64 bytes, bool store);

#endif
