/* Memory as lanes see it: where each lane's bytes lie on the host, after every check. */
#ifndef AMDKERNEL_ACCESS_H
#define AMDKERNEL_ACCESS_H

#include "machine/machine.h"

/* The resource through which gfx90a reaches scratch: swizzled by dwords over 64 lanes, each lane's own added by the
 * hardware. Its base is 0, which no allocation has. Source: LLVM AMDGPUUsage, "Private Segment Buffer". */
static const u32 private_buffer[4] = {0, 1u << 31, ~0u, 1u << 23 | 3u << 21};

typedef enum { SEGMENT_GLOBAL, SEGMENT_FLAT, SEGMENT_SCRATCH, SEGMENT_BUFFER } Segment;

/* Active lanes lie at base + offset or, where `base` is NULL, at `at`: all in one block, or in several. */
typedef struct {
    u8 *base;
    const u32 *offset; /* `own`, or the register that holds the addresses */
    u32 own[LANES] __attribute__((aligned(64)));
    u8 *at[LANES] __attribute__((aligned(64)));
    u64 active;  /* EXEC, less the lanes that a buffer's range check turned off */
    u64 outside; /* lanes that a buffer's range check turned off: they load zero */
    bool split;  /* a lane lies partly within a buffer: nothing is resolved, ask for each dword by itself */
} Access;

static inline u8 *lane_at(const Access *a, int lane)
{
    return a->base ? a->base + a->offset[lane] : a->at[lane];
}

/* Compilers round loads of arguments up, and leave what lies behind the last one alone. */
enum { KERNARG_SPARE = 64 };

/* The memory around `address` that a kernel may touch, or false: a span, of a launch's record only the part that is
 * meant. */
bool access_reachable(const Wave *w, u64 address, u64 bytes, Span *out);

/* Where that fails: true, and a finding, if hardware would have memory there. */
bool access_scalar_overrun(Wave *w, const Inst *i, u64 address, u32 bytes, bool store);

/* Where the lanes of a vector memory instruction go. False: a fault was recorded. */
bool access_resolve(Wave *w, const Inst *i, u32 bytes, bool store, Access *a);

/* LDS at address + offset of each lane, lane by lane unless all are known to be `within`, and reported to observers. */
bool access_lds_slowly(Wave *w, const Inst *i, const u32 *address, i32 offset, u32 bytes, bool store, bool within, Access *a);

/* True when `reach` bytes from the address of each of the first `lanes` lanes lie within LDS, including inactive lanes. */
static inline __attribute__((always_inline)) bool all_within(const Wave *w, u32 lanes, const u32 *address, u32 reach)
{
    u32 limit = w->lds_bytes - reach, beyond = 0;
    for (u32 l = 0; l < lanes; l++)
        beyond |= address[l] > limit;
    return reach <= w->lds_bytes && !beyond;
}
/* Where waves have 32 lanes, the addresses of the others may be anything. */
static inline bool wave_within(const Wave *w, const u32 *address, u32 reach)
{
    return likely(all_within(w, LANES, address, reach)) || (w->wave32 && all_within(w, 32, address, reach));
}

/* The same, with a fast path where there is nothing to report. */
static inline bool access_lds(Wave *w, const Inst *i, const u32 *address, i32 offset, u32 bytes, bool store, Access *a)
{
    a->active = exec_mask(w);
    a->outside = 0;
    a->base = w->lds + offset;
    a->offset = address;
    bool within = wave_within(w, address, (u32)offset + bytes);
    return likely(within && !w->worker->observers) || access_lds_slowly(w, i, address, offset, bytes, store, within, a);
}

/* Two at once, at `offset` and `other` from one address: `a` and `b`. */
static inline bool access_lds_two(Wave *w, const Inst *i, const u32 *address, i32 offset, i32 other, u32 bytes,
                                  bool store, Access *a, Access *b)
{
    i32 farther = offset > other ? offset : other;
    a->active = b->active = exec_mask(w);
    a->outside = b->outside = 0;
    a->base = w->lds + offset;
    b->base = w->lds + other;
    a->offset = b->offset = address;
    bool within = wave_within(w, address, (u32)farther + bytes);
    return likely(within && !w->worker->observers) ||
           (access_lds_slowly(w, i, address, offset, bytes, store, within, a) &&
            access_lds_slowly(w, i, address, other, bytes, store, within, b));
}

#endif
