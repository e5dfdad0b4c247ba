/* Global wave sync, see isa/gws.c. */
#ifndef AMDKERNEL_GWS_H
#define AMDKERNEL_GWS_H

#include "machine/machine.h"

/* Of a dispatch, shared by its workers. */
struct Gws { u64 state[64]; };

void gws_start(Gws *g, u64 workgroups);
/* Whether the wave waits at a barrier of the grid; when it no longer does, it knows what the others did before. */
bool gws_waits(Wave *w);

#endif
