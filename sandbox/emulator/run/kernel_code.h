/* What a kernel descriptor and a dispatch say about waves. */
#ifndef AMDKERNEL_RUN_KERNEL_CODE_H
#define AMDKERNEL_RUN_KERNEL_CODE_H

#include "emulator.h"

/* The waves of a workgroup; kernel_wave_size() is declared in emulator.h. */
u32 kernel_group_waves(const Dispatch *d);
/* The work-items of a workgroup that is not partial, and the waves that so many need. */
u32 kernel_group_items(const Dispatch *d);
u32 kernel_waves_for(const Dispatch *d, u32 items);

#endif
