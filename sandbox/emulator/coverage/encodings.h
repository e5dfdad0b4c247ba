/* Every opcode of an architecture once, as machine code: what the disassembler makes of it names all instructions. */
#ifndef AMDKERNEL_COVERAGE_ENCODINGS_H
#define AMDKERNEL_COVERAGE_ENCODINGS_H

#include "machine/machine.h"

/* Samples with different operands, as an instruction may refuse some. Each begins at a dword of its own. */
typedef struct { u32 *words; u32 *starts; u32 word_count, count; } Samples;

/* False when there is no memory. An architecture without a list gives none. */
bool encodings_create(const char *arch, Samples *out);
void encodings_destroy(Samples *s);

#endif
