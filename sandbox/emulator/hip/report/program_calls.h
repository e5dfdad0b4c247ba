/* Where in the program its calls of this library are. */
#ifndef AMDKERNEL_HIP_PROGRAM_CALLS_H
#define AMDKERNEL_HIP_PROGRAM_CALLS_H

#include "hip/runtime/runtime.h"
#include <stdio.h>

/* The return address of the program's present call, as its debug data count; 0: another thread or a library calls. */
u64 report_program_call(void);
/* A block was made: note where in the program. Not with the lock of the runtime, which the loader may wait for. */
void report_note_allocation(u64 address);
/* A key of a report: where block `number` was made. */
void report_allocation_calls(FILE *out, u32 number);

#endif
