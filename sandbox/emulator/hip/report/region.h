/* What an address of memory belongs to: an allocation, a variable, the kernel's arguments. */
#ifndef AMDKERNEL_HIP_REPORT_REGION_H
#define AMDKERNEL_HIP_REPORT_REGION_H

#include "hip/code/code_object.h"
#include <stdio.h>

#define REPORT_PAGE 4096ull /* also the gap between blocks */
#define REPORT_ARGUMENTS "the kernel's arguments"
#define REPORT_PACKET "the dispatch packet"

extern const char *const report_space[]; /* the names of Fault.space */
bool report_touches_memory(const Fault *f);
bool report_is_in_memory(const Fault *f); /* not LDS, not scratch, not a register */
/* Of a fault in SPACE_REGISTER. */
void report_register(const Fault *f, char *name, size_t bytes);
/* The block, region or variable that an address of memory is in or missed; false: there is none. */
bool report_nearest(const CodeObject *c, const Dispatch *d, const Fault *f, Block *near);
/* If the block is that of the code object's variables: the variable that the address is in or follows, its name in
 * backticks. */
void report_variable(const CodeObject *c, u64 address, Block *near);
/* Keys of a report: the region's name, its bytes, and where the program allocated it. */
void report_region(FILE *out, const Block *near);
/* Whether the process has memory there that is not the emulated GPU's: mostly a host pointer in an argument. */
bool report_is_host_memory(u64 address);

#endif
