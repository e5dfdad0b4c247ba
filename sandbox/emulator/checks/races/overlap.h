/* Work of different streams that may run at the same time: which of it touched which dword last. */
#ifndef AMDKERNEL_OVERLAP_H
#define AMDKERNEL_OVERLAP_H

#include "emulator.h"

/*
 * A piece of work (a kernel, a copy, a fill, a release) and what it knows: work `n` of stream `s` came before it where
 * known[s] >= n. The front end counts, and says by `label` what the work is; it lives as long as the process.
 */
enum { MOST_STREAMS = 256 };
typedef struct Turn {
    u32 stream, count, id;      /* id: as overlap_begin() gave it */
    u32 known[MOST_STREAMS];
    bool talks;                 /* it stored a signal that the host may see, or saw one of other work: then nothing that
                                 * comes after it counts as unordered */
    bool (*host_sees)(u64 address);
} Turn;

/* One that may overlap with the present work, and where in its code: an offset, or 0. */
typedef struct { const void *label; u64 code; bool load, store; } Overlapping;

/* learns: by a signal, whose value the work gets to see. */
typedef struct { bool load, store, signal, learns; } Touching;

Overlap *overlap_create(Memory *m);
/* The work takes part from here on. Until there is a second stream, no work need. */
void overlap_begin(Overlap *o, Turn *t, const void *label);
/* Bytes of memory, touched at an offset of the work's code: true when other work touched them that nothing puts before
 * this one. Only stores that follow each other are left to the caller, who may know that they store the same. */
bool overlap_touch(Overlap *o, Turn *t, u64 address, u64 bytes, Touching how, u64 code, Overlapping *other);
/* What was touched there is forgotten: the memory's next owner has nothing to do with it. */
void overlap_forget(Overlap *o, u64 address, u64 bytes);
bool overlap_in_part(const Overlap *o);

#endif
