#include "model/shapes.h"

#include <string.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

/*
 * Parts: MI250X (one GCD), MI300X, MI355X, RX 7900 XTX, RX 9070 XT.
 * Sources: ROCm documentation, "Accelerator and GPU hardware specifications" (sizes, and that RDNA4 has no graphics L1);
 * AMD CDNA 3 white paper (lines, ways and channels of L1, L2 and Infinity Cache; 128-byte lines); ROCm Compute Profiler,
 * sysinfo of recorded MI200 and MI300X; nod-ai/amd-shark-ai, docs/empirical-lds (LDS banks and phases, all but MI200);
 * LLVM, AMDGPUUsage, "Memory Model GFX10-GFX11" and "GFX12" (which CUs share a cache), COMPUTE_PGM_RSRC1 (registers)
 * and COMPUTE_PGM_RSRC2 (LDS granules);
 * AMD RDNA white paper (a store to a line of the graphics L1 evicts it; 128-byte lines); rocminfo of gfx1201
 * (256-byte lines of the L2). The 64 ways of the vL1D are those of GCN, taken for RDNA's L0 as well.
 * What a dispatch leaves in the L2: on MI300X all lines are written back and read again, on MI200 they stay
 * (recorded TCC_ALL_TC_OP_WB_WRITEBACK and TCC_NORMAL_WRITEBACK of vecCopy).
 */
static const GpuShape shapes[] = {
    {.arch = "gfx90a", .clusters = 1, .cus_per_cluster = 110, .simds_per_cu = 4, .waves_per_simd = 8, .vgprs = {512, 8, 8},
     .lds_bytes = 64 * KIB, .lds_granule = 512, .lds_banks = 32, .lds_wide_swizzle = true, .l1_bytes = 16 * KIB, .l1_line_bytes = 64,
     .l2_count = 1, .l2_bytes = 8 * MIB, .l2_line_bytes = 128, .l2_survives = true, .address_groups_known = true},
    {.arch = "gfx942", .clusters = 8, .cus_per_cluster = 38, .simds_per_cu = 4, .waves_per_simd = 8, .vgprs = {512, 8, 8},
     .lds_bytes = 64 * KIB, .lds_granule = 512, .lds_banks = 32, .lds_wide_swizzle = true, .l1_bytes = 32 * KIB, .l1_line_bytes = 128,
     .l2_count = 8, .l2_bytes = 4 * MIB, .l2_line_bytes = 128, .mall_mib = 256, .address_groups_known = true},
    {.arch = "gfx950", .clusters = 8, .cus_per_cluster = 32, .simds_per_cu = 4, .waves_per_simd = 8, .vgprs = {512, 8, 8},
     .lds_bytes = 160 * KIB, .lds_granule = 1280, .lds_banks = 64, .lds_wide_swizzle = true, .l1_bytes = 32 * KIB, .l1_line_bytes = 128,
     .l2_count = 8, .l2_bytes = 4 * MIB, .l2_line_bytes = 128, .mall_mib = 256, .address_groups_known = true},
    {.arch = "gfx1100", .clusters = 12, .cus_per_cluster = 8, .simds_per_cu = 2, .waves_per_simd = 16, .vgprs = {768, 12, 4},
     .lds_bytes = 64 * KIB, .lds_granule = 512, .lds_banks = 32, .lds_wide_swizzle = true, .l1_bytes = 32 * KIB, .l1_line_bytes = 128,
     .gl1_bytes = 256 * KIB, .l2_count = 1, .l2_bytes = 6 * MIB, .l2_line_bytes = 128, .mall_mib = 96, .l2_survives = true},
    {.arch = "gfx1201", .clusters = 8, .cus_per_cluster = 8, .simds_per_cu = 2, .waves_per_simd = 16, .vgprs = {768, 12, 4},
     .lds_bytes = 64 * KIB, .lds_granule = 512, .lds_banks = 32, .l1_bytes = 32 * KIB, .l1_line_bytes = 128,
     .l2_count = 1, .l2_bytes = 8 * MIB, .l2_line_bytes = 256, .mall_mib = 64, .l2_survives = true},
};

const GpuShape *shapes_find(const char *arch)
{
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (!strcmp(shapes[k].arch, arch))
            return &shapes[k];
    return NULL;
}
