/* What reports call a piece of a stream's work. */
#ifndef AMDKERNEL_HIP_REPORT_WORK_LABEL_H
#define AMDKERNEL_HIP_REPORT_WORK_LABEL_H

#include "hip/code/code_object.h"
#include "checks/races/overlap.h"
#include <stdio.h>

/* A kernel has its name and code object, a copy, a fill or a release only a word. */
typedef struct WorkLabel {
    const char *name;
    CodeObject *object;   /* NULL: no kernel, or unloaded */
    u32 object_number;
    struct WorkLabel *next;
} WorkLabel;

/* load, store or update */
const char *report_access(bool load, bool store);
/* Work of another stream, as a JSON object: a kernel and the place in its code, or a copy and the like. */
void report_work_label(FILE *out, const void *label, const Overlapping *o);
/* Keeps the file of the kernel's code object. */
void report_work_object(const void *label);

#endif
