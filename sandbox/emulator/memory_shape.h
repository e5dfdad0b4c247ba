/* The sizes of a GPU's memory levels, as far as the models of traffic and of LDS conflicts need them. */
#ifndef AMDKERNEL_MEMORY_SHAPE_H
#define AMDKERNEL_MEMORY_SHAPE_H

#include "emulator.h"

typedef struct MemoryShape {
    const char *arch;
    u32 xcds, cus_per_xcd;
    u32 waves_per_cu, lds_bytes, vgprs_per_simd;
    u32 lds_banks;
    u32 l1_bytes, l1_line_bytes;  /* vL1D of a CU */
    u32 l2_bytes;                 /* of an XCD, in lines of L2_LINE_BYTES */
    u32 mall_mib;                 /* Infinity Cache of the package; 0: none */
    bool l2_survives;             /* a dispatch: the L2 is coherent, because there is but one */
} MemoryShape;

enum { LINE_BYTES = 128, SECTOR_BYTES = 32, L1_WAYS = 64, L2_WAYS = 16, MALL_WAYS = 16, SCALAR_CACHE_BYTES = 16384 };

/* NULL for an architecture without a model. */
const MemoryShape *memory_shape(const char *arch);

#endif
