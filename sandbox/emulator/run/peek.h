/* The first steps of one wave of every workgroup of a dispatch, which change nothing. */
#ifndef AMDKERNEL_RUN_PEEK_H
#define AMDKERNEL_RUN_PEEK_H

#include "run/worker.h"

/* Finds the distances of all workgroups of the queue's subset, see model/shifts.h. False: they are not found. */
bool peek_shifts(Queue *q, Memory *m);

#endif
