/* printf of kernels that were compiled with -mprintf-kind=buffered. */
#ifndef AMDKERNEL_HIP_PRINTF_BUFFER_H
#define AMDKERNEL_HIP_PRINTF_BUFFER_H

#include "hip/code/code_object.h"

/* An empty buffer for a dispatch; *block is made when it is 0. */
u64 printf_buffer(u64 *block);
/* Prints what the dispatch wrote there. */
void printf_buffer_print(const CodeObject *c, u64 block);

#endif
