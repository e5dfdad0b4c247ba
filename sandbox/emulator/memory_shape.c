#include "memory_shape.h"

#include <string.h>

/*
 * Parts: MI250X (one GCD), MI300X, MI355X.
 * Sources: ROCm documentation, "Accelerator and GPU hardware specifications" (sizes); AMD CDNA 3 white paper (lines, ways
 * and channels of L1, L2 and Infinity Cache; 128-byte lines); ROCm Compute Profiler, sysinfo of recorded MI200 and
 * MI300X; nod-ai/amd-shark-ai, docs/empirical-lds (LDS banks). The 64 ways of the vL1D are those of GCN.
 * What a dispatch leaves in the L2: on MI300X all lines are written back and read anew, on MI200 they stay
 * (recorded TCC_ALL_TC_OP_WB_WRITEBACK and TCC_NORMAL_WRITEBACK of vecCopy).
 */
static const MemoryShape shapes[] = {
    /* arch, XCDs, CUs, waves, LDS, VGPRs, banks, L1, L1 line, L2, MALL, L2 survives */
    {"gfx90a", 1, 110, 32, 65536, 512, 32, 16384, 64, 8 << 20, 0, true},
    {"gfx942", 8, 38, 32, 65536, 512, 32, 32768, 128, 4 << 20, 256, false},
    {"gfx950", 8, 32, 32, 163840, 512, 64, 32768, 128, 4 << 20, 256, false},
};

const MemoryShape *memory_shape(const char *arch)
{
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (!strcmp(shapes[k].arch, arch))
            return &shapes[k];
    return NULL;
}
