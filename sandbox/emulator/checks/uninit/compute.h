/* Unset bits of what is computed from registers. */
#ifndef AMDKERNEL_CHECKS_UNINIT_COMPUTE_H
#define AMDKERNEL_CHECKS_UNINIT_COMPUTE_H

#include "checks/races/annotations.h"
#include "checks/shadow.h"

/* What is computed from registers, lane by lane or of scalars. */
void uninit_compute(Wave *w, const Inst *i, Uninit *t, const Annotation *n);
void uninit_compute_dual(Wave *w, const Inst *i, Uninit *t);
void uninit_compute_scalar(Wave *w, const Inst *i, Uninit *t, const Annotation *n);

#endif
