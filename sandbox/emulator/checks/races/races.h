/* Races of a dispatch: two accesses to one dword that nothing orders. */
#ifndef AMDKERNEL_CHECKS_RACES_RACES_H
#define AMDKERNEL_CHECKS_RACES_RACES_H

#include "checks/races/annotations.h"
#include "checks/races/state.h"

Races *races_create(Memory *m, const Dispatch *d, const Annotation *annotations);
void races_destroy(Races *r);

void races_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store);
void races_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
void races_scalar(Wave *w, const Inst *i, u64 address, u32 bytes);
/* After an instruction: were values changed that another wave had stored, or lanes' values lost? */
void races_after(Wave *w, const Inst *i);

/* Too much memory was touched to follow all of it. */
bool races_in_part(const Races *r);

#endif
