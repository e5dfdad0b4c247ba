#include "run/kernel_code.h"

u32 kernel_group_items(const Dispatch *d) { return d->block[0] * d->block[1] * d->block[2]; }

u32 kernel_wave_size(const KernelCode *k)
{
    enum { ENABLE_WAVEFRONT_SIZE32 = 1 << 10 };
    return k->properties & ENABLE_WAVEFRONT_SIZE32 ? 32 : 64;
}

u32 kernel_waves_for(const Dispatch *d, u32 items)
{
    u32 lanes = kernel_wave_size(&d->kernel);
    return (items + lanes - 1) / lanes;
}

u32 kernel_group_waves(const Dispatch *d) { return kernel_waves_for(d, kernel_group_items(d)); }
