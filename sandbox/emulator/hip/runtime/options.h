/* The options of the emulator: AMDKERNEL_EMULATOR_OPTIONS="key=value,…". */
#ifndef AMDKERNEL_HIP_OPTIONS_H
#define AMDKERNEL_HIP_OPTIONS_H

#include "emulator.h"

enum { MAX_DEVICES = 16 };

typedef struct {
    u64 step_limit;    /* wave-instructions of a dispatch; 0: none */
    u64 time_limit_ms; /* of a dispatch; 0: none */
    u64 end_at_ms;     /* when the process will be killed, by CLOCK_MONOTONIC; 0: unknown */
    u64 arena_bytes;   /* of each device */
    u64 schedule_seed; /* 0: in order */
    u32 threads;
    int devices;
    bool count_memory, count_pcs, deterministic, check_memory, check_races, last_waves_first;
    bool interpreted; /* no code is translated for the host: for comparisons */
    bool overruns;    /* accesses beyond a block continue where they would on hardware, and are reported */
    char arch[16];
} Options;

/* Sets what `text` names, and leaves the rest as it is. NULL names nothing. */
void options_read(Options *o, const char *text);

#endif
