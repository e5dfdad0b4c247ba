/* Proves that a wave waits for ever: it comes back to the same state, and has changed nothing on the way. */
#ifndef AMDKERNEL_RUN_STANDSTILL_H
#define AMDKERNEL_RUN_STANDSTILL_H

#include "machine/machine.h"

/* Room for the state of one wave, and for what its stores find. NULL: out of memory. */
typedef struct Standstill Standstill;
Standstill *standstill_create(const Dispatch *d);
void standstill_destroy(Standstill *s);

/* Runs the wave for `longest` instructions at most and adds their number to `steps`. True: for as long as nothing else changes memory
 * the wave repeats them. `others`: other threads may change what it loads. If false, look at its `stop`. */
bool standstill_repeats(Standstill *s, Wave *w, u32 longest, bool others, u64 *steps);

#endif
