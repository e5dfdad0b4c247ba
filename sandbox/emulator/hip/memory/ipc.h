/* Memory that processes share, by handles of 64 bytes. */
#ifndef AMDKERNEL_HIP_IPC_H
#define AMDKERNEL_HIP_IPC_H

#include "hip/runtime/runtime.h"

/* A handle for the block of device memory that holds `pointer`; hipErrorInvalidValue, hipErrorOutOfMemory. Waits for all
 * work that was submitted, as the block moves to where others reach it. */
hipError_t ipc_export(void *pointer, void *handle);
/* Where `handle` points to in this process; hipErrorInvalidContext in the one that made it. Close it as often. */
hipError_t ipc_import(const void *handle, void **pointer);
/* False when it was not imported. */
bool ipc_close(void *pointer);

#endif
