/* The state of the process, which all rooms of the HIP front end share. */
#ifndef AMDKERNEL_HIP_RUNTIME_H
#define AMDKERNEL_HIP_RUNTIME_H

#include "hip/runtime/hip.h"
#include "hip/runtime/options.h"

typedef struct {
    Memory *memory;
    Caches *caches;          /* of the memory model; NULL without it, and while a dispatch uses them */
    Options options;
    const char *report_path; /* NULL: faults go to stderr, and nothing else is reported */
    const char *objects_path; /* a folder for the code objects that reports refer to, as N.co; NULL: not kept */
    pthread_mutex_t lock;    /* recursive; held by every call that touches shared state */
    u64 instructions;        /* of waves, that all dispatches have executed */
    u64 clock;               /* the present value of the devices' clocks */
    int fault;               /* a hipError_t, see fault.h; atomic */
} Runtime;

/* The one runtime of the process, made at first use. Ends the process if there is no memory for the arena. */
Runtime *runtime(void);
void runtime_lock(void);
void runtime_unlock(void);

/* The device that the calling thread has chosen. All devices are alike, and share the arena. */
int runtime_device(void);
void runtime_set_device(int ordinal);
bool runtime_has_device(int ordinal);

#endif
