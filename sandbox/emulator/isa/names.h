/* Other spellings of the mnemonics of rows. */
#ifndef AMDKERNEL_ISA_NAMES_H
#define AMDKERNEL_ISA_NAMES_H

#include "machine/machine.h"

/* Another spelling of a row's mnemonic: RDNA renamed many instructions. */
typedef struct { const char *name, *row; } OtherName;

extern const OtherName isa_other_names[];
extern const u32 isa_other_name_count;

#endif
