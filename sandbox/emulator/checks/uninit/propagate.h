/* How unset bits pass from the sources of an instruction to its results. */
#ifndef AMDKERNEL_CHECKS_UNINIT_PROPAGATE_H
#define AMDKERNEL_CHECKS_UNINIT_PROPAGATE_H

#include "checks/races/annotations.h"

/* To be called before each instruction of a wave that holds unset bits. */
void uninit_before(Wave *w, const Inst *i, const Annotation *n);

#endif
