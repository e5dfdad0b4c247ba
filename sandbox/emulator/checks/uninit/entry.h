/* Registers that a kernel reads although it may never have set them. */
#ifndef AMDKERNEL_CHECKS_UNINIT_ENTRY_H
#define AMDKERNEL_CHECKS_UNINIT_ENTRY_H

#include "checks/shadow.h"

/* From the kernel's entry: registers that neither the hardware nor every path sets before an instruction reads them. */
typedef struct EarlyReads {
    u32 count;
    struct { u16 reg; u32 inst; } of[REGISTER_NUMBERS];
} EarlyReads;

/* The caller frees it; NULL: out of memory. */
EarlyReads *entry_early_reads(const Dispatch *d, const struct Annotation *annotations);

/* At the start of a workgroup whose every instruction is looked at: its waves have never set these registers. */
void entry_mark_unset(GroupShadow *g, const EarlyReads *reads, const Dispatch *d);

#endif
