#include "timing/rates.h"

#include <string.h>

/*
 * Sources. Issue and VALU of CDNA: ROCm Compute Profiler, "Pipeline descriptions" (a SIMD issues each fourth clock, 16 lanes
 * a clock; transcendentals at a quarter of the rate) and LLVM, SISchedule.td; integer multiplication at a quarter: AMD's
 * GCN3 manual. RDNA: LLVM, SISchedule.td and the RDNA3 manual (transcendentals in a unit of their own). Matrix rates:
 * ROCm/amd_matrix_instruction_calculator and gpus.toml; RDNA3 16x16x16 f16 in 32 clocks of a SIMD.
 * Bandwidth: gpus.toml (peaks, and the parts of them that benchmarks reach) over the clock: MI250X 1.64 TB/s at 85 %,
 * MI300X 5.3 and 17.2 TB/s at 79 and 37 %, MI355X 8 TB/s, RX 7900 XTX 0.96 TB/s, RX 9070 XT 0.64 TB/s. A CU's share of the
 * L2: 128 B a clock and channel over the CUs, at 75 %. Latency of gfx90a: recordings of vecCopy by rocprof-compute (level
 * counters over requests: 195 clocks to the vL1D and back, 346 more to the L2); of its memory, and of gfx942's: AMD's yAx
 * exercises 4 and 5, whose loop waits for one load a turn (622 clocks a turn on an MI210, 780 on an MI300A, less the
 * instructions of the turn), and 0.34 us of an access to the idle memory of an MI300X; gfx950 as gfx942 in time, at 2.4 GHz.
 * What the load on memory adds is in the queues. RDNA3: Chips and Cheese,
 * "Latency testing is hard" (150 ns to the Infinity Cache). Latency of LDS, scalar loads, branches, barriers and starts are
 * assumptions: a factor of two in any of them moves no kernel of the published ladders by more than 3 %.
 * `shared_lds` is fitted to one published kernel (seb-v, kernel 2): documented are 1 and 2.
 */
static const Rates rates[] = {
    {.arch = "gfx90a", .slot = 4, .vector = 4, .dependent = 4, .transcendental = 16, .transcendental_result = 16, .multiply = 16,
     .multiply_result = 16, .doubles = 4, .doubles_result = 4, .scalar_result = 4, .branch = 16, .barrier = 20, .lds = 64,
     .scalar_load = 200, .level = {195, 541, 565, 565}, .matrix = {256, 256, 64, 64, 256}, .start = 200, .address = 64,
     .l2_share = 54, .memory = 820, .shared_lds = 1},
    {.arch = "gfx942", .slot = 4, .vector = 4, .dependent = 4, .transcendental = 16, .transcendental_result = 16, .multiply = 16,
     .multiply_result = 16, .doubles = 4, .doubles_result = 4, .scalar_result = 4, .branch = 16, .barrier = 20, .lds = 64,
     .scalar_load = 200, .level = {125, 500, 600, 715}, .matrix = {512, 512, 64, 64, 1024, 1024, 256}, .start = 200, .address = 64,
     .l2_share = 54, .mall = 3030, .memory = 2000, .shared_lds = 1},
    {.arch = "gfx950", .slot = 4, .vector = 4, .dependent = 4, .transcendental = 16, .transcendental_result = 16, .multiply = 16,
     .multiply_result = 16, .doubles = 4, .doubles_result = 4, .scalar_result = 4, .branch = 16, .barrier = 20, .lds = 64,
     .scalar_load = 200, .level = {140, 570, 690, 820}, .matrix = {1024, 1024, 64, 32, 2048, 2048, 0, 4096}, .start = 200,
     .address = 64, .l2_share = 64, .mall = 3030, .memory = 2630, .shared_lds = 1},
    {.arch = "gfx1100", .rdna = true, .slot = 1, .vector = 1, .dependent = 5, .transcendental = 4, .transcendental_result = 10,
     .multiply = 4, .multiply_result = 8, .doubles = 16, .doubles_result = 38, .scalar_result = 2, .branch = 8, .barrier = 20,
     .lds = 40, .scalar_load = 200, .level = {80, 200, 350, 600}, .matrix = {256, 256, 0, 0, 256}, .start = 100, .address = 64,
     .l2_share = 64, .mall = 960, .memory = 340, .shared_lds = 1.2f},
    {.arch = "gfx1201", .rdna = true, .slot = 1, .vector = 1, .dependent = 5, .transcendental = 4, .transcendental_result = 10,
     .multiply = 4, .multiply_result = 8, .doubles = 16, .doubles_result = 38, .scalar_result = 2, .branch = 8, .barrier = 20,
     .lds = 40, .scalar_load = 200, .level = {80, 200, 350, 600}, .matrix = {512, 512, 0, 0, 1024, 1024}, .start = 100,
     .address = 64, .l2_share = 64, .mall = 640, .memory = 183, .shared_lds = 1.2f},
};

const Rates *rates_of(const char *arch)
{
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
        if (!strcmp(rates[k].arch, arch))
            return &rates[k];
    return NULL;
}
