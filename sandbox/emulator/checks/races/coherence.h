/* What an instruction's words say of the order of memory accesses. */
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
           r->family == FAMILY_BUFFER || r->family == FAMILY_SCRATCH;
}

Coherence coherence_of(const char *arch);

/* Bits of notes.h, of an instruction by itself. */
u16 coherence_sync_of(Coherence c, const Inst *i, const char *text);

/* Whether what the signal at `k` tells is acquired from the wave's own workgroup alone. */
bool coherence_acquires_nearby(const Program *p, u32 k);

#endif
