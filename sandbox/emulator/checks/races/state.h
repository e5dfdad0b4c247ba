/* What the race checks of a worker know of a dispatch: types only. */
#ifndef AMDKERNEL_CHECKS_RACES_STATE_H
#define AMDKERNEL_CHECKS_RACES_STATE_H

#include "checks/races/overlap.h"
#include "checks/races/sample.h"
#include "checks/shadow.h"

enum { MAX_PENDING = 64 };

/* Entry.how */
enum {
    BY_LOAD = 1, BY_STORE = 2, /* both: a read-modify-write */
    BY_SIGNAL = 4,             /* atomic or volatile: these do not race with each other */
    BY_HABIT = 8,              /* an atomic with which plain reads do not race */
    MAY_SIGNAL = 16,           /* a plain store that may be an atomic one */
    BY_GROUP = 32,             /* BY_SIGNAL, for waves of the same workgroup */
};

/* Two stores to one dword race unless they store the same value, which is known after the second. */
typedef struct {
    Entry other;
    Overlapping work;        /* instead, of other work */
    Fault fault;
    u8 *at, before[4], mask;
} PendingStore;

typedef struct Races {
    Memory *memory;
    u64 base, bytes;         /* the arena */
    Cell **pages;            /* for each page of the arena its cells, or NULL */
    u64 page_count, made;
    u64 heap, heap_bytes;    /* of malloc in kernels: the device library passes blocks from wave to wave by its own means */
    bool in_part;            /* there was no room for all */
    bool waits_release;      /* a release is a wait, left out where no store is on its way; elsewhere an instruction of its own */
    Sample sample;           /* the workgroups that are followed */
    u64 followed;            /* how many have begun */
    bool own_group_only;     /* others are not followed, and may order what these do: only the workgroup's own accesses */
    u32 clock;               /* epochs handed out */
    u32 waves_per_group;
    u32 buckets;             /* waves of other workgroups are distinguished modulo this: an alias can only hide a race */
    SyncTable *sync;         /* of global memory */
    const struct Annotation *annotations;
    u32 signal_sizes;        /* in bytes, as bits, of the kernel's atomic and volatile loads */
    PendingStore pending[MAX_PENDING];
    u32 pending_count;
    u64 stored[LANES], stored_lanes; /* of the last plain store to global memory */
    u32 stored_bytes;
    u16 stored_from;         /* register */
} Races;

#endif
