/* What a kernel descriptor and a dispatch say about waves. */
#ifndef AMDKERNEL_RUN_KERNEL_CODE_H
#define AMDKERNEL_RUN_KERNEL_CODE_H

#include "emulator.h"

/* The waves of a workgroup; kernel_wave_size() is declared in emulator.h. */
u32 kernel_group_waves(const Dispatch *d);
/* The work-items of a workgroup that is not partial, and the waves that so many need. */
u32 kernel_group_items(const Dispatch *d);
u32 kernel_waves_for(const Dispatch *d, u32 items);
/* How many vector registers and accumulators a wave has. */
void kernel_registers(const Dispatch *d, u32 *vectors, u32 *accumulators);
/* Scalars that the kernel descriptor asks for; those and the workgroup's numbers: registers 0 to that are set at first. */
u32 kernel_user_scalars(const Dispatch *d);
u32 kernel_first_scalars(const Dispatch *d);

#endif
