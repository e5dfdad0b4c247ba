/*
 * What lanes ask of memory, in lines: a trace for each wave, which the memory model reads when the workgroup has ended.
 */
#ifndef AMDKERNEL_TRACE_H
#define AMDKERNEL_TRACE_H

#include "machine/machine.h"
#include "model/shapes.h"

typedef enum { REQUEST_READ, REQUEST_WRITE, REQUEST_ATOMIC, REQUEST_SCALAR } RequestKind;

/* A line that one instruction of one wave touches. No sectors: the wave is at a barrier. */
typedef struct { u64 line : 40, inst : 17, first : 1, kind : 2, sectors : 4; } Request;

enum { NO_INST = (1 << 17) - 1 }; /* an instruction behind the first 131,071 */

typedef struct Trace { Request *request; u64 count, room; } Trace;

/* Room for so many more requests, or false. */
bool trace_grow(Trace *t, u64 more);

/* Without memory for it the request is lost, as is what follows. */
static inline void trace_add(Trace *t, Request r)
{
    if (likely(t->count < t->room) || trace_grow(t, 1))
        t->request[t->count++] = r;
}

/* What the address unit and the vL1D do for an instruction before any line is looked at. Accesses and tag lookups stay
 * 0 where it is not known how the address unit takes a wave. */
typedef struct { u64 accesses[3], tag_lookups, lines[3], write_requests, atomic_requests[2]; } TcpCounts;

/* Remembers the lines it found; one for each thread. */
typedef struct TraceLines TraceLines;

/* `lanes` of a wave. */
TraceLines *trace_lines_create(const GpuShape *shape, u32 lanes);
void trace_lines_destroy(TraceLines *m);

/* Adds instruction number `inst` to a trace and to the counts. `returns`: an atomic that does. Returns its lines. */
u32 trace_access(Trace *t, TcpCounts *n, TraceLines *m, u32 inst, const u64 *address, u64 active, u32 bytes,
                 AccessKind kind, bool returns);

u32 trace_scalar(Trace *t, u32 inst, u64 address, u32 bytes, AccessKind kind);

#endif
