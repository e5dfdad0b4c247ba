/* How many workgroups of a kernel a compute unit holds. Source: LLVM AMDGPUUsage and the CDNA3 ISA, "Occupancy". */
#include "hip/launch/occupancy.h"

#include "hip/code/registered.h"
#include "hip/devices/device.h"
#include "hip/runtime/answer.h"

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

static int blocks_per_unit(const Function *f, int block, size_t dynamic_lds_bytes)
{
    const Device *d = device();
    const KernelMetadata *k = f->kernel;
    u32 vgprs = k->vgprs ? (k->vgprs + d->vgpr_granule - 1) / d->vgpr_granule * d->vgpr_granule : d->vgpr_granule;
    int waves = d->simds * at_most((int)(d->vgprs_per_simd_lane / vgprs), d->waves_per_simd);
    int blocks = waves / ((block + d->wave - 1) / d->wave);
    size_t lds = k->lds_bytes + dynamic_lds_bytes;
    return lds ? at_most(blocks, lds > d->lds_bytes ? 0 : (int)(d->lds_bytes / lds)) : blocks;
}

u64 occupancy_resident(const Function *f, u32 block_items, u32 dynamic_lds_bytes)
{
    int blocks = blocks_per_unit(f, (int)block_items, dynamic_lds_bytes);
    return (u64)(blocks > 0 ? blocks : 0) * (u64)device()->compute_units;
}

static hipError_t active_blocks(int *count, const Function *f, int block, size_t dynamic_lds_bytes)
{
    if (!count || block <= 0)
        return hipErrorInvalidValue;
    bool too_large = block > MAX_WORKGROUP || (f->kernel->max_workgroup && (u32)block > f->kernel->max_workgroup);
    *count = too_large ? 0 : blocks_per_unit(f, block, dynamic_lds_bytes);
    return hipSuccess;
}

/* The largest of the blocks with the best occupancy of a compute unit. */
static hipError_t best_block(int *grid, int *block, const Function *f, size_t dynamic_lds_bytes, int limit)
{
    if (!grid || !block)
        return hipErrorInvalidValue;
    int largest = f->kernel->max_workgroup ? (int)f->kernel->max_workgroup : MAX_WORKGROUP, best = 0;
    if (limit > 0)
        largest = at_most(largest, limit);
    *grid = *block = 0;
    int step = device()->wave;
    for (int size = largest >= step ? largest / step * step : largest; size > 0; size -= step) {
        int items = blocks_per_unit(f, size, dynamic_lds_bytes) * size;
        if (items > best) {
            best = items;
            *block = size;
            *grid = items / size * device()->compute_units;
        }
    }
    return hipSuccess;
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *count, hipFunction_t f, int block, size_t lds_bytes)
{
    return answer(f ? active_blocks(count, (Function *)f, block, lds_bytes) : hipErrorInvalidValue);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, hipFunction_t f, int block,
                                                                       size_t lds_bytes, unsigned flags)
{
    (void)flags;
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(count, f, block, lds_bytes);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *host, int block, size_t lds_bytes)
{
    hipError_t error;
    const Function *f = registered_function(host, &error);
    return answer(f ? active_blocks(count, f, block, lds_bytes) : error);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *host, int block,
                                                                 size_t lds_bytes, unsigned flags)
{
    (void)flags;
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(count, host, block, lds_bytes);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t f, size_t lds_bytes, int limit)
{
    return answer(f ? best_block(grid, block, (Function *)f, lds_bytes, limit) : hipErrorInvalidValue);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, hipFunction_t f, size_t lds_bytes,
                                                            int limit, unsigned flags)
{
    (void)flags;
    return hipModuleOccupancyMaxPotentialBlockSize(grid, block, f, lds_bytes, limit);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *host, size_t lds_bytes, int limit)
{
    hipError_t error;
    const Function *f = registered_function(host, &error);
    return answer(f ? best_block(grid, block, f, lds_bytes, limit) : error);
}

/* HIP 7. As in AMD's runtime (clr 7.2, hip_platform.cpp): the LDS that remains for each of so many workgroups on a compute
 * unit, but at least what each has when a compute unit holds as many as its threads allow. */
hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks, int block);
hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks, int block)
{
    enum { LDS_GRANULE = 64 };
    const Device *d = device();
    hipError_t error;
    if (!bytes || blocks <= 0 || block <= 0)
        return answer(hipErrorInvalidValue);
    const Function *f = registered_function(host, &error);
    if (!f)
        return answer(error);
    int most = d->wave * d->simds * d->waves_per_simd / block;
    if (!most)
        return answer(hipErrorInvalidValue);
    i64 statics = (i64)f->kernel->lds_bytes, left = (i64)d->lds_bytes - statics * at_most(blocks, most);
    i64 each = left / blocks > left / most ? left / blocks : left / most, room = (i64)d->lds_bytes - statics;
    each = each < 0 ? 0 : each > room ? room : each;
    *bytes = (size_t)each / LDS_GRANULE * LDS_GRANULE;
    return hipSuccess;
}
