/* The annotations of a program's instructions: what the checks know of them, read from the disassembly once. */
#ifndef AMDKERNEL_CHECKS_RACES_ANNOTATIONS_H
#define AMDKERNEL_CHECKS_RACES_ANNOTATIONS_H

#include "checks/races/annotation_operands.h"

/* One for each instruction, made at first use and freed with the program; NULL: out of memory. */
const Annotation *annotations_of(const Program *p);

/* Whether waves may learn from other workgroups, by atomics, volatile accesses or loads that wait. True if not known. */
bool annotations_communicate(const Program *p);

/* The next instruction in the text that reads what the load brings; the program's count: none near. */
u32 annotations_first_use(const Program *p, const Annotation *annotations, u32 load);

#endif
