/* What instructions do with EXEC as an operand. */
#ifndef AMDKERNEL_EXEC_H
#define AMDKERNEL_EXEC_H

#include "machine/machine.h"

/* Gives an instruction that changes EXEC a handler that counts divergence. False: it reads a part of EXEC whose content
 * no document states. */
bool exec_settle(const Program *p, Inst *i);

/* By its name or by its first result. */
bool exec_written_by(const Inst *i);

#endif
