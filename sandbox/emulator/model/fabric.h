/* Between the L2s of a part and its Infinity Cache: in which order it serves them, and which lines several of them read. */
#ifndef AMDKERNEL_MODEL_FABRIC_H
#define AMDKERNEL_MODEL_FABRIC_H

#include "model/l2_unit.h"

/* `readers`: by a hash of the line, a bit for each L2 that has read it in this dispatch; lines whose hashes collide count
 * as one. NULL until there is one; the owner frees it. */
typedef struct { Caches *caches; u8 *readers; } Fabric;

/* The events of all `count` L2s in the order of the turns, which differ from L2 to L2; then they are forgotten. */
void fabric_in_order(Fabric *f, L2Unit *unit, u32 count, Traffic *traffic);

#endif
