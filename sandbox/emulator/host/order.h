/*
 * The order in which other threads see what this one stores. A kernel orders its own accesses by waiting for them
 * (s_waitcnt): x86-64 keeps every order that such a kernel relies on by itself, other processors need a fence there.
 */
#ifndef AMDKERNEL_HOST_ORDER_H
#define AMDKERNEL_HOST_ORDER_H

#include "emulator.h"

#if defined(__x86_64__) && !defined(AMDKERNEL_PORTABLE)
enum { WAITS_NEED_FENCES = false };
#else
enum { WAITS_NEED_FENCES = true };
#endif

static inline void order_accesses(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
