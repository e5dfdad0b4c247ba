/* The sizes of a GPU's memory levels that the models of traffic and of LDS conflicts need. */
#ifndef AMDKERNEL_MEMORY_SHAPE_H
#define AMDKERNEL_MEMORY_SHAPE_H

#include "emulator.h"

/* Of waves of 64 lanes; waves of 32 have twice as many. How many the SIMD has, the step in which a wave gets them, and
 * the step in which the kernel's descriptor encodes them. */
typedef struct { u32 of_simd, granule, encoded; } Vgprs;

typedef struct GpuShape {
    const char *arch;
    u32 clusters, cus_per_cluster; /* XCDs, or RDNA's shader arrays */
    u32 simds_per_cu, waves_per_simd;
    Vgprs vgprs;
    u32 lds_bytes, lds_banks;      /* for each CU */
    u32 lds_granule;               /* bytes in which workgroups get it */
    bool lds_wide_swizzle;         /* lanes of a phase of 16-byte loads are not neighbours */
    u32 l1_bytes, l1_line_bytes;   /* vL1D or L0 of a CU */
    u32 gl1_bytes;                 /* of a shader array: read only, between L0 and L2; 0: none */
    u32 l2_count, l2_bytes;        /* one for each cluster, or one for all */
    u32 l2_line_bytes;             /* that a miss fetches */
    u32 mall_mib;                  /* Infinity Cache of the package; 0: none */
    bool l2_survives;              /* a dispatch: the L2 is coherent, because there is but one */
    bool address_groups_known;     /* how the address unit takes a wave, see trace.c */
} GpuShape;

enum {
    LINE_BYTES = 128, SECTOR_BYTES = 32, L1_WAYS = 64, GL1_WAYS = 16, L2_WAYS = 16, MALL_WAYS = 16,
    SCALAR_CACHE_BYTES = 16384,
};

/* NULL for an architecture without a model. */
const GpuShape *shapes_find(const char *arch);

#endif
