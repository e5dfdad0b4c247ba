/* How this thread rounds and what it does with denormals. */
#ifndef AMDKERNEL_HOST_FLOAT_MODE_H
#define AMDKERNEL_HOST_FLOAT_MODE_H

#include "emulator.h"

typedef enum { ROUND_NEAREST, ROUND_UP, ROUND_DOWN, ROUND_TO_ZERO } Direction;

#if defined(__x86_64__)

#include <immintrin.h>

/* MXCSR.  Intel SDM vol. 1, "MXCSR control and status register". */
enum { FLOAT_MODE_PLAIN = 0x1f80 }; /* rounds to nearest, keeps denormals, traps nothing */

static inline u64 float_mode(Direction d, bool flush_sources, bool flush_results)
{
    static const u32 rounding[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP, _MM_ROUND_DOWN, _MM_ROUND_TOWARD_ZERO};
    return FLOAT_MODE_PLAIN | rounding[d] | (flush_results ? _MM_FLUSH_ZERO_ON : 0) | (flush_sources ? 0x40 : 0);
}
static inline u64 float_mode_get(void) { return _mm_getcsr(); }
static inline void float_mode_set(u64 mode) { _mm_setcsr((u32)mode); }

/* Whether the processor can flush sources and results of one kind each by itself. */
enum { FLUSHES_APART = true };

#elif defined(__aarch64__)

/* FPCR.  Arm ARM, "FPCR, Floating-point Control Register": RMode in bits 22 and 23, in the order of Direction; FZ, bit
 * 24, flushes sources and results. It takes a result for denormal before it rounds it, and MXCSR after. */
enum { FLOAT_MODE_PLAIN = 0 };

static inline u64 float_mode(Direction d, bool flush_sources, bool flush_results)
{
    return (u64)d << 22 | (u64)(flush_sources || flush_results) << 24;
}
static inline u64 float_mode_get(void)
{
    u64 mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline void float_mode_set(u64 mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }

enum { FLUSHES_APART = false };

#else
#error "this processor's control of floating point is not known"
#endif

#endif
