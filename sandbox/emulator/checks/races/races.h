/* Races of a dispatch: what each wave knows of the others, and who touched which dword last. */
#ifndef AMDKERNEL_RACES_H
#define AMDKERNEL_RACES_H

#include "checks/races/overlap.h"
#include "checks/shadow.h"

enum { MAX_PENDING = 64 };

/* Entry.how */
enum {
    BY_LOAD = 1, BY_STORE = 2, /* both: a read-modify-write */
    BY_SIGNAL = 4,             /* atomic or volatile: these do not race with each other */
    BY_HABIT = 8,              /* an atomic beside which plain reads do no harm */
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

struct Races {
    Memory *memory;
    u64 base, bytes;         /* the arena */
    Cell **pages;            /* for each page of the arena its cells, or NULL */
    u64 page_count, made;
    u64 heap, heap_bytes;    /* of malloc in kernels: a block passes from wave to wave in ways of the device library */
    bool in_part;            /* there was no room for all */
    bool waits_release;      /* a release is a wait, left out where no store is on its way; elsewhere an instruction of its own */
    u32 clock;               /* epochs handed out */
    u32 waves_per_group;
    u32 buckets;             /* waves of other workgroups are told apart modulo this: an alias only hides a race */
    SyncTable *sync;         /* of global memory */
    const Annotation *annotations;
    u32 signal_sizes;        /* in bytes, as bits, of the kernel's atomic and volatile loads */
    PendingStore pending[MAX_PENDING];
    u32 pending_count;
    u64 stored[LANES], stored_lanes; /* of the last plain store to global memory */
    u32 stored_bytes;
    u16 stored_from;         /* register */
};

Races *races_create(Memory *m, const Dispatch *d, const Annotation *annotations);
void races_destroy(Races *r);

void races_global(Wave *w, const Inst *i, const u64 *address, u64 active, u32 bytes, bool store);
void races_lds(Wave *w, const Inst *i, const u32 *offset, u64 active, u32 bytes, bool store);
void races_scalar(Wave *w, const Inst *i, u64 address, u32 bytes);
/* After an instruction: were values changed that another wave had stored, or lanes' values lost? */
void races_after(Wave *w, const Inst *i);

/* ---- order.c ---- */

SyncTable *happens_before_table_create(u32 limit);
void happens_before_table_clear(SyncTable *t);
void happens_before_table_destroy(SyncTable *t);

void happens_before_start(Races *r, GroupShadow *g, u32 waves);
void happens_before_destroy(HappensBefore *o);
/* All accesses of the workgroup before are known to all its waves after. */
void happens_before_barrier(Races *r, GroupShadow *g);
/* What the wave did so far may be learnt by other workgroups. */
void happens_before_release(Races *r, Wave *w, Certainty c);
/* A signal is about to be stored, or a barrier passed: a wave with no store on its way needs no release by waiting. */
void happens_before_release_idle(Races *r, HappensBefore *o);
/* What others released POSSIBLE before signals that this wave saw is known from here on. */
void happens_before_acquire(Races *r, Wave *w);
/* What the wave does from here on is not known to those who learnt of it before. */
void happens_before_new_epoch(Races *r, Wave *w);
/* The wave stores to (publishes) or loads from (learns) a place that waves signal through; `to_all`: waves of other
 * workgroups as well; `near`: what those tell counts from the next acquire on. */
void happens_before_publish(Races *r, Wave *w, SyncTable *t, u64 place, bool to_all);
void happens_before_learn(Races *r, Wave *w, SyncTable *t, u64 place, bool near);
/* The wave saw a plain store of another that was a signal. */
void happens_before_learn_from(Races *r, Wave *w, const Entry *e, bool near);
bool happens_before_knows(const Races *r, const Wave *w, const Entry *e, u32 began);
u32 happens_before_wave(const Races *r, const Wave *w);

#endif
