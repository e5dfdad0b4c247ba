/*
 * Whether the workgroups of a subset are alike, and then what all others do.
 *
 * They are alike if each load and store of one is that of another, moved by a distance that follows from the distance of
 * the workgroups in the grid. Then the requests of all workgroups to the L2 are known, and the model of the shared caches
 * sees all of them.
 */
#ifndef AMDKERNEL_MODEL_ALIKE_H
#define AMDKERNEL_MODEL_ALIKE_H

#include "model/subset.h"

/* By distances that follow from the grid. False: a sentence in `why`. */
bool alike_test(Subset *s, char *why, size_t why_bytes);
/* The same by the distances in Subset.shift, after alike_test() did not find them in the grid. */
bool alike_test_shifted(Subset *s, char *why, size_t why_bytes);
/* The subset speaks for all from here on: gives the model the requests of all workgroups. */
void alike_replay(Subset *s, L2Model *m);
/* Half of the 95 % interval of each counter, as a part of it. */
void alike_errors(const Subset *s, double *errors);

#endif
