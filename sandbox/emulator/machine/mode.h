/* How instructions run when a wave's MODE is not that of the host. */
#ifndef AMDKERNEL_MODE_H
#define AMDKERNEL_MODE_H

#include "machine/machine.h"

/* Rounds to nearest, keeps denormals, IEEE's rules for NaN, as the host does by itself; and skips nothing. */
bool mode_is_plain(const Wave *w);

/* What float_mode_set() is to be given for this instruction. */
u64 mode_of_host(const Wave *w, const Inst *i);

/* Modes that the host does not have: to be called before the instruction, and after it. */
bool mode_is_beyond_us(Wave *w, const Inst *i);
bool mode_spoils_result(Wave *w, const Inst *i);

#endif
