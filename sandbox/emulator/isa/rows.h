/* The list of all instruction tables, one for each family. */
#ifndef AMDKERNEL_ISA_ROWS_H
#define AMDKERNEL_ISA_ROWS_H

#include "machine/machine.h"

extern const RowTable *const isa_tables[];
extern const u32 isa_table_count;

#endif
