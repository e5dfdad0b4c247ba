/* Straight runs of instructions as code of the host, for waves whose lanes are all active. */
#ifndef AMDKERNEL_NATIVE_COMPILE_H
#define AMDKERNEL_NATIVE_COMPILE_H

#include "machine/machine.h"

#if defined(__x86_64__) && !defined(AMDKERNEL_PORTABLE)
/* Sets Program.compiled of the instructions at which runs begin; of none where the host cannot. */
void compile_program(Program *p);
void compile_forget(Program *p);
#else /* the Makefile leaves the sources of this folder out */
static inline void compile_program(Program *p) { (void)p; }
static inline void compile_forget(Program *p) { (void)p; }
#endif

#endif
