/* From the text of an instruction to an Inst: operands, constants and modifiers. */
#ifndef AMDKERNEL_OPERANDS_H
#define AMDKERNEL_OPERANDS_H

#include "machine/machine.h"

enum { MAX_OPERANDS = 8, OPERAND_BYTES = 64 };

typedef struct {
    char mnemonic[64];
    char operand[MAX_OPERANDS][OPERAND_BYTES];
    u32 operands;
    char modifiers[192];
    bool sdwa, dpp;
    bool rdna; /* every operand of 16 bits may be half a register */
} Words;

/* Take the text apart; the encoding suffix (_e32, _dpp …) leaves the mnemonic. False: it does not fit. */
bool operands_split(const char *text, Words *out);

/* Length of the operand at `s`: up to a comma, or a blank, outside brackets. */
size_t operands_length(const char *s);

/* Fill operands of `i` by the layout of its row. False when an operand is not understood. */
bool operands_read(const Words *words, Inst *i);

/* False when it reads a register that hardware sets to what is documented nowhere for kernels (the trap handler's, and on
 * CDNA flat_scratch and xnack_mask), or writes one of the trap handler. */
bool operands_known(const Inst *i, const Program *p);

#endif
