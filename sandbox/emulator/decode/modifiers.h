/* From the text of an instruction to the modifiers of an Inst. */
#ifndef AMDKERNEL_DECODE_MODIFIERS_H
#define AMDKERNEL_DECODE_MODIFIERS_H

#include "decode/operands.h"

/* Fill modifiers. False when one is unknown or the row does not honour it. */
bool modifiers_read(const Words *words, Inst *i);

#endif
