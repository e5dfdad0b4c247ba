/*
 * Workgroups to clusters (XCDs, shader arrays) and CUs: workgroup n is in cluster n % clusters, and there on unit
 * (n / clusters) % units. As many workgroups as fit on all units together make a round.
 */
#include "model/residency.h"

#include "machine/machine.h"

static u32 at_least(u32 x, u32 least) { return x > least ? x : least; }
static u32 at_most(u64 x, u32 most) { return x < most ? (u32)x : most; }

/* LLVM AMDGPUUsage, COMPUTE_PGM_RSRC1: WGP_MODE, reserved and 0 before GFX10. */
static bool in_wgp_mode(const KernelCode *k) { return k->rsrc1 >> 29 & 1; }

/* Waves of the kernel on a SIMD, by registers and slots. The same document, GRANULATED_WORKITEM_VGPR_COUNT. */
static u32 waves_per_simd(const KernelCode *k, const GpuShape *s)
{
    u32 wider = LANES / kernel_wave_size(k), granule = s->vgprs.granule * wider;
    u32 told = ((k->rsrc1 & 63) + 1) * s->vgprs.encoded * wider;
    u32 needed = (told + granule - 1) / granule * granule;
    return at_most(s->vgprs.of_simd * wider / needed, s->waves_per_simd);
}

static u32 kernel_waves(const Dispatch *d)
{
    u32 lanes = kernel_wave_size(&d->kernel);
    return (d->block[0] * d->block[1] * d->block[2] + lanes - 1) / lanes;
}

static u32 groups_that_fit(const Dispatch *d, const GpuShape *s, u32 cus)
{
    u32 waves = kernel_waves(d);
    u32 lds = d->kernel.lds_bytes + d->dynamic_lds_bytes;
    u32 fit = at_least(cus * s->simds_per_cu * waves_per_simd(&d->kernel, s) / waves, 1);
    return lds ? at_most(fit, at_least(cus * s->lds_bytes / lds, 1)) : fit;
}

Residency residency_of(const Dispatch *d, const GpuShape *s)
{
    Residency p = {.lanes = kernel_wave_size(&d->kernel), .cus_per_unit = in_wgp_mode(&d->kernel) ? 2 : 1};
    p.units_per_cluster = s->cus_per_cluster / p.cus_per_unit;
    u64 total = (u64)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    u64 units = (u64)s->clusters * p.units_per_cluster;
    p.groups_per_unit = at_least(at_most((total + units - 1) / units, groups_that_fit(d, s, p.cus_per_unit)), 1);
    p.round_size = units * p.groups_per_unit;
    return p;
}

Fit residency_fit(const Dispatch *d, const GpuShape *s)
{
    u32 cus = in_wgp_mode(&d->kernel) ? 2 : 1, fit = groups_that_fit(d, s, cus);
    u32 by_waves = at_least(cus * s->simds_per_cu * waves_per_simd(&d->kernel, s) / kernel_waves(d), 1);
    bool full = waves_per_simd(&d->kernel, s) == s->waves_per_simd;
    return (Fit){(u64)s->clusters * (s->cus_per_cluster / cus) * fit,
                 fit < by_waves ? "lds" : full ? "wave_slots" : "vgprs"};
}

u32 residency_cluster(const GpuShape *s, u64 number) { return (u32)(number % s->clusters); }

u32 residency_cu(const Residency *p, const GpuShape *s, u64 number)
{
    return (u32)(number / s->clusters % p->units_per_cluster) * p->cus_per_unit;
}
