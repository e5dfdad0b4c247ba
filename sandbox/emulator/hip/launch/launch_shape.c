#include "hip/launch/launch_shape.h"

u64 launch_shape_items(const LaunchShape *s) { return (u64)s->block[0] * s->block[1] * s->block[2]; }

u64 launch_shape_workgroups(const LaunchShape *s)
{
    u64 count = 1;
    for (int d = 0; d < 3; d++)
        count *= ((u64)s->grid[d] + s->block[d] - 1) / s->block[d];
    return count;
}

hipError_t launch_shape(dim3 blocks, dim3 block, size_t dynamic_lds_bytes, LaunchShape *out)
{
    u64 items[3] = {(u64)blocks.x * block.x, (u64)blocks.y * block.y, (u64)blocks.z * block.z};
    *out = (LaunchShape){.block = {block.x, block.y, block.z}};
    for (int d = 0; d < 3; d++) {
        if (items[d] > UINT32_MAX)
            return hipErrorInvalidConfiguration;
        out->grid[d] = (u32)items[d];
    }
    out->dynamic_lds_bytes = dynamic_lds_bytes > UINT32_MAX ? UINT32_MAX : (u32)dynamic_lds_bytes;
    return hipSuccess;
}
