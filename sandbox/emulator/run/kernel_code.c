#include "run/kernel_code.h"

#include "machine/machine.h"

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

void kernel_registers(const Dispatch *d, u32 *vectors, u32 *accumulators)
{
    enum { MOST = 256 };
    bool rdna = d->program->generation >= GFX11; /* it has no accumulators: rsrc3 says other things */
    u32 all = ((d->kernel.rsrc1 & 63) + 1) * 8, plain = rdna ? MOST : ((d->kernel.rsrc3 & 63) + 1) * 4;
    u32 first = all < plain ? all : plain, rest = all - first;
    *vectors = first < MOST ? first : MOST;
    *accumulators = rest < MOST ? rest : MOST;
}

u32 kernel_user_scalars(const Dispatch *d) { return d->kernel.rsrc2 >> 1 & 31; }

u32 kernel_first_scalars(const Dispatch *d)
{
    enum { WAVE_OFFSET = 1, WORKGROUP_NUMBERS = 7 << 7, WORKGROUP_INFO = 1 << 10 };
    u32 offset = strcmp(d->program->arch, "gfx90a") ? 0 : WAVE_OFFSET;
    u32 numbers = d->program->generation >= GFX12 ? 0 : WORKGROUP_NUMBERS | WORKGROUP_INFO;
    return kernel_user_scalars(d) + (u32)__builtin_popcount(d->kernel.rsrc2 & (offset | numbers));
}

u32 kernel_group_waves(const Dispatch *d) { return kernel_waves_for(d, kernel_group_items(d)); }
