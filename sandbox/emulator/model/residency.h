/* Where the workgroups of a dispatch run, and how many at once. */
#ifndef AMDKERNEL_PLACEMENT_H
#define AMDKERNEL_PLACEMENT_H

#include "model/shapes.h"

/* A workgroup lives on a unit: a CU, or on RDNA in WGP mode the two CUs of a workgroup processor. */
typedef struct {
    u32 lanes;             /* of a wave */
    u32 cus_per_unit, units_per_cluster;
    u32 groups_per_unit;   /* at once; no more than the dispatch has for each unit */
    u64 round_size;        /* workgroups that fit on all units together */
} Residency;

/* How many workgroups the GPU holds at once, and what bounds that: "lds", "vgprs" or "wave_slots". */
typedef struct { u64 workgroups; const char *by; } Fit;
Fit residency_fit(const Dispatch *d, const GpuShape *s);

Residency residency_of(const Dispatch *d, const GpuShape *s);

/* Of workgroup `number`: its cluster, and its first CU there. */
u32 residency_cluster(const GpuShape *s, u64 number);
u32 residency_cu(const Residency *p, const GpuShape *s, u64 number);

#endif
