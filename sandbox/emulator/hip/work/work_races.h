/* Races between work of different streams (option `races`). */
#ifndef AMDKERNEL_HIP_WORK_RACES_H
#define AMDKERNEL_HIP_WORK_RACES_H

#include "hip/code/function.h"
#include "checks/races/overlap.h"

/* A second stream exists: from now on work is followed, if races are checked. */
void work_races_begin(void);
bool work_races_are_followed(void);
/* An order is unknown: no more races are reported. */
void work_races_give_up(void);

/* The work that the calling thread does now; NULL: none that is followed. */
void work_races_now(Turn *t);
/* For the dispatch of a kernel. */
void work_races_dispatch(const Function *f, Dispatch *d);
/* The present work, a copy or such, touches memory: reported if other work may do so at the same time. */
void work_races_touch(const char *what, const void *memory, u64 bytes, bool store);
void work_races_forget_object(const CodeObject *c);

#endif
