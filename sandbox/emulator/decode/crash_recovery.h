/* Calls into foreign code that may crash on untrusted input: the call is abandoned, the process continues. */
#ifndef AMDKERNEL_CRASH_RECOVERY_H
#define AMDKERNEL_CRASH_RECOVERY_H

#include <signal.h>

#include "emulator.h"

/* Room for a handler to run in when the thread's own stack is used up. */
typedef struct { stack_t before; u8 stack[65536]; } CrashRecovery;

/* Between these two on one thread, fatal signals of the process come to us first. May be nested and run on many threads. */
void crash_recovery_begin(CrashRecovery *r);
void crash_recovery_end(CrashRecovery *r);

/* Calls work(context); false when it crashed. What it held then is lost: its memory leaks, its objects are not to be used. */
bool crash_recovery_survives(void (*work)(void *context), void *context);

#endif
