/* What instructions over lanes become in host code: those that are frequent and simple. The others are called. */
#ifndef AMDKERNEL_NATIVE_LOWER_H
#define AMDKERNEL_NATIVE_LOWER_H

#include "native/registers.h"

typedef struct Lowering Lowering;

/* NULL: there is none for this instruction with these operands, or inactive lanes would matter to it. */
const Lowering *lower_find(const Inst *i);
/* Its code for the lanes of `r`. */
void lower(Rows *r, const Inst *i, const Lowering *how);

/* How an instruction uses a word of the scalar file. */
typedef enum { UNUSED, READ_WHOLE, MASK_LOW, MASK_HIGH } ScalarUse;
/* Notes its use of scalars; false if it would use one otherwise than an instruction before it did: code for 16 lanes
 * at a time would then see a mask that is half done. */
bool lower_record_scalars(ScalarUse *uses, const Inst *i, const Lowering *how);

#endif
