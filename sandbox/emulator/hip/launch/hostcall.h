/* How kernels ask the host for services. */
#ifndef AMDKERNEL_HIP_HOSTCALL_H
#define AMDKERNEL_HIP_HOSTCALL_H

#include "hip/runtime/runtime.h"

/* The buffer that kernels get as hidden argument, made at first use; 0: no memory. */
u64 hostcall_buffer(void);
/* Serves all packets that are ready (Dispatch.interrupt). */
void hostcall_serve(void *unused);

#endif
