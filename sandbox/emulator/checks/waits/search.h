/* The search for code that may use a register before the load that fills it has returned, on any path through a program. */
#ifndef AMDKERNEL_CHECKS_WAITS_SEARCH_H
#define AMDKERNEL_CHECKS_WAITS_SEARCH_H

#include "checks/races/annotation_operands.h"

/* What there may be on some path: bits. The compiler's own code has neither. */
enum { EARLY_USE = 1, EARLY_BARRIER = 2, EARLY_IN_LDS = 4 };

u32 waits_search(const Program *p, const Annotation *annotations);

#endif
