/* What the encoding of an instruction means for the order of memory accesses. */
#ifndef AMDKERNEL_COHERENCE_H
#define AMDKERNEL_COHERENCE_H

#include <string.h>

#include "machine/machine.h"

/* How an architecture marks accesses that other waves may rely on. */
typedef enum { COHERENCE_GLC, COHERENCE_DLC, COHERENCE_SC, COHERENCE_SCOPE } Coherence;

static inline bool text_has(const char *text, const char *word) { return strstr(text, word) != NULL; }

static inline bool text_starts(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static inline bool coherence_touches_memory(const Row *r)
{
    return r->family == FAMILY_LDS || r->family == FAMILY_GLOBAL || r->family == FAMILY_FLAT ||
           r->family == FAMILY_BUFFER || r->family == FAMILY_SCRATCH ||
           (r->family == FAMILY_SMEM && r->detail[2] != ACCESS_LOAD);
}

/* What an instruction means for the order of memory accesses. */
enum {
    SYNC_ACCESS = 1,      /* a load or store that other waves may rely on: atomic or volatile */
    SYNC_RELEASE = 2,     /* stores before it are seen by all workgroups from here on */
    SYNC_WEAK = 64,       /* the same, but possibly by chance: it counts only for waves that acquire */
    SYNC_CHANCE = 2048,   /* with SYNC_WEAK: the wait is for a load */
    SYNC_ACQUIRE = 128,   /* loads after it see what other workgroups released before the signals seen so far */
    SYNC_GROUP = 256,     /* an access that only waves of its own workgroup may rely on */
    SYNC_NEAR = 4096,     /* a load that acquires from waves of its own workgroup alone */
    SYNC_POLL = 512,      /* a plain load in a loop that does nothing but wait */
    SYNC_SYSTEM = 1024,   /* volatile, as a rule: atomics name a smaller scope, and in LDS need none */
    SYNC_RETURNS = 4,     /* an atomic that gives the old value back */
    SYNC_COMPARES = 8,    /* compare and swap: a plain read of the same place is common and harmless */
    SYNC_EXTREME = 16,    /* minimum or maximum: likewise in global memory, where reads skip needless updates */
    SYNC_BUFFERED = 32,   /* a plain store: on some architectures an atomic one looks the same */
};

Coherence coherence_of(const char *arch);

/* SYNC_ bits of an instruction by itself. */
u16 coherence_sync_of(Coherence c, const Inst *i, const char *text);

/* Whether the signal at `k` acquires from the wave's own workgroup only. */
bool coherence_acquires_nearby(const Program *p, u32 k);

#endif
