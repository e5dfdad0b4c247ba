/*
 * What the modules of the HIP front end share: the state of the process, and how an API function answers. The fault of
 * a launch is told by the next call that waits for it.
 */
#ifndef AMDKERNEL_HIP_RUNTIME_H
#define AMDKERNEL_HIP_RUNTIME_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, strdup, recursive mutexes; so this header comes before all of the system's */
#endif

#include "emulator.h"

#include <pthread.h>

#include "hip/runtime/amd_headers.h"

#pragma GCC visibility push(default) /* what is exported is decided by libamdhip64.map */

/* AMDKERNEL_EMULATOR_OPTIONS="key=value,…" */
typedef struct {
    u64 step_limit;  /* wave-instructions of a dispatch; 0: none */
    u64 time_limit_ms; /* of a dispatch; 0: none */
    u64 end_at_ms;     /* when the process will be ended, by CLOCK_MONOTONIC; 0: not known */
    u64 arena_bytes; /* of each device */
    u64 schedule_seed; /* 0: in order */
    u32 threads;
    int devices;
    bool count_memory, count_pcs, deterministic, check_memory, check_races, last_waves_first;
    bool interpreted; /* no code of the host: to compare */
    bool overruns;   /* accesses beyond a block go on where they would on hardware, and are told */
    char arch[16];
} Options;

typedef struct {
    Memory *memory;
    Caches *caches;          /* as the memory model has them; NULL without it, and while a dispatch has them */
    Options options;
    const char *report_path; /* NULL: faults go to stderr, and nothing else is told */
    const char *objects_path; /* a folder for the code objects of which something is told, as N.co; NULL: not kept */
    pthread_mutex_t lock;    /* recursive; held by every call that touches shared state */
    u64 clock;               /* where the clocks of the devices stand */
    int fault;               /* of a dispatch: as on a real GPU nothing works after it, until hipDeviceReset; atomic */
} Runtime;

/* The one runtime of the process, made at first use. Ends the process when there is no memory for the arena. */
Runtime *runtime(void);
void runtime_lock(void);
void runtime_unlock(void);

/* The device that the calling thread has chosen; all devices are alike, and share the arena. */
enum { MAX_DEVICES = 16 };
int current_device(void);
void set_current_device(int ordinal);
bool is_device(int ordinal);

/* copy.c: hipErrorInvalidValue for a range that begins in one of our blocks and leaves it, or lies in no block of device
 * memory though it must. Variables of code objects lie in blocks too. */
hipError_t check_range(const void *pointer, size_t bytes, bool must_be_device);

/* Whether it is memory of the host that no HIP call has made or pinned. */
bool is_pageable(const void *pointer);

/* What an API function returns: `error` is kept for hipGetLastError unless it is hipSuccess. */
hipError_t answer(hipError_t error);

/* The latched fault, or hipSuccess: the value of every call that waits for the device. */
hipError_t device_fault(void);
/* Latch an error, unless there is none or another one came before. */
void latch_fault(hipError_t error);

#endif
