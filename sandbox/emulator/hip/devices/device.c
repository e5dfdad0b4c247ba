/*
 * The emulated GPUs. The size of their memory is the arena's, not that of the product.
 * Source of the figures: AMD product pages and "Hardware specifications" of the ROCm documentation; the clocks and the
 * bus are in the units of hipGetDeviceProperties (kHz, bits).
 */
#include "hip/devices/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Device devices[] = {
    /* arch, target, name, version, CUs, wave, SIMDs, waves, VGPRs, granule, LDS, clock, memory clock, bus, L2 */
    {"gfx90a", "gfx90a:sramecc+:xnack-", "AMD Instinct MI250X (emulated)", 9, 0, 10, 110, 64, 4, 8, 512, 8, 65536,
     1700000, 1600000, 4096, 8 << 20},
    {"gfx942", "gfx942:sramecc+:xnack-", "AMD Instinct MI300X (emulated)", 9, 4, 2, 304, 64, 4, 8, 512, 8, 65536,
     2100000, 1300000, 8192, 4 << 20},
    {"gfx950", "gfx950:sramecc+:xnack-", "AMD Instinct MI355X (emulated)", 9, 5, 0, 256, 64, 4, 8, 512, 8, 163840,
     2400000, 2000000, 8192, 4 << 20},
    {"gfx1100", "gfx1100", "AMD Radeon RX 7900 XTX (emulated)", 11, 0, 0, 48, 32, 4, 16, 1536, 24, 65536,
     2482000, 1249000, 384, 6 << 20},
    {"gfx1201", "gfx1201", "AMD Radeon RX 9070 XT (emulated)", 12, 0, 1, 32, 32, 4, 16, 1536, 24, 65536,
     2400000, 1258000, 256, 8 << 20},
};

const Device *device(void)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!strcmp(devices[i].arch, runtime()->options.arch))
            return &devices[i];
    fprintf(stderr, "amdkernel emulator: there is no emulated device of architecture `%s`\n", runtime()->options.arch);
    exit(1);
}
