/* Where reports go: lines of AMDKERNEL_EMULATOR_REPORT, and the code objects that they refer to. */
#ifndef AMDKERNEL_HIP_REPORT_OUTPUT_H
#define AMDKERNEL_HIP_REPORT_OUTPUT_H

#include "hip/code/code_object.h"
#include <stdio.h>

/* The report file, for one more line; NULL, and a sentence on stderr, when it cannot be written. */
FILE *report_open(void);
/* `text` as a JSON string. */
void report_string(FILE *out, const char *text);
/* Keeps the file of a code object that a report refers to, once: its debug data name the lines. */
void report_object(CodeObject *c);

#endif
