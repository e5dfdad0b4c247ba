/* The options of the emulator: AMDKERNEL_EMULATOR_OPTIONS="key=value,…". */
#ifndef AMDKERNEL_HIP_OPTIONS_H
#define AMDKERNEL_HIP_OPTIONS_H

#include "emulator.h"

enum { MAX_DEVICES = 16 };

typedef struct {
    u64 step_limit;    /* wave-instructions of a dispatch; 0: none */
    u64 end_at_ms;     /* when the process will be killed, by CLOCK_MONOTONIC; 0: unknown */
    u64 arena_bytes;   /* of each device */
    u64 layout_seed;   /* draws where memory begins and its gaps; 0: always the same */
    u64 schedule_seed; /* 0: in order */
    u64 races_every;   /* races are looked for in one of so many workgroups; 0 or 1: in all */
    u64 races_seed;    /* chooses these workgroups */
    u64 kept_launches; /* of a kernel, grid and block: the rest are only counted; 0: all. Code objects are kept */
    u64 part_above;    /* of a sampled dispatch with more requests to the L2s a part of the sets is modelled; 0: the usual number */
    u64 sample_above;  /* of a dispatch with more wave-instructions a sample of the workgroups runs; 0: all run */
    u64 clock_seed;    /* of the simulated clock */
    u64 clock_scale;   /* how many times as long launches take on it; 0: once */
    u32 threads;
    int devices;
    bool count_memory, count_pcs, list_ran, deterministic, check_memory, check_races, last_waves_first;
    bool reproducible;    /* one thread where workgroups may learn from each other */
    bool limit_residency; /* no more workgroups at once than the GPU holds */
    bool proves_hangs;    /* the host does not touch memory while a kernel runs: what can never end is ended at once */
    bool simulated_clock; /* the times of events are those of a simulated GPU (hip/clock) */
    bool interpreted; /* no code is translated for the host: for comparisons */
    bool overruns;    /* accesses beyond a block continue where they would on hardware, and are reported */
    char arch[16];
} Options;

/* Sets what `text` names, and leaves the rest as it is. NULL names nothing. */
void options_read(Options *o, const char *text);

#endif
