/* LDS cycles of one instruction. */
#ifndef AMDKERNEL_LDS_MODEL_H
#define AMDKERNEL_LDS_MODEL_H

#include "model/shapes.h"
#include "machine/machine.h"

/* Remembers what it found; one for each thread. */
typedef struct LdsModel LdsModel;

/* `lanes` of a wave. */
LdsModel *lds_model_create(const GpuShape *shape, u32 lanes);
void lds_model_destroy(LdsModel *m);

/* `hint`: the same number for the same instruction. */
LdsCycles lds_model_cycles(LdsModel *m, u32 hint, const u32 *offset, u64 active, u32 bytes, AccessKind kind);

#endif
