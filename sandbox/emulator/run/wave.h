/* Sets up waves and workgroups; the loop that runs a wave. */
#ifndef AMDKERNEL_WAVE_H
#define AMDKERNEL_WAVE_H

#include "machine/machine.h"

/* A workgroup that is resident on a worker: its waves, registers, LDS and scratch. Reused for one after the other. */
typedef struct {
    Wave *waves;
    u8 *registers, *lds, *scratch;
    u64 registers_bytes, lds_room, scratch_room;
    struct L1Group *trace; /* NULL: no memory model */
    u64 number;
    GroupShadow *shadow; /* NULL without checks */
    u32 wave_count, live, signals;
    u32 passed;             /* barriers */
    bool busy;
} Group;

/* Its waves record what they ask of memory if the worker has a view of the memory model. */
bool wave_group_create(Group *g, const Worker *k);
void wave_group_destroy(Group *g, const Dispatch *d);
/* Those of an array, which stays. */
void wave_groups_destroy(Group **groups, u32 count, const Dispatch *d);

/* Set the waves of workgroup `number` (x fastest) up. Returns how many there are. */
u32 wave_group_start(Group *g, Worker *k, u64 number);

/* Run at most so many instructions of a wave that has just started, without those that act outside of it: stores, atomics,
 * barriers. */
void wave_peek(Wave *w, u32 most);

/* Run a wave until it stops or the worker's budget is spent. */
void wave_run(Wave *w);

#endif
