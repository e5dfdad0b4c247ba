/* The report of a dispatch. */
#ifndef AMDKERNEL_HIP_DISPATCH_REPORT_H
#define AMDKERNEL_HIP_DISPATCH_REPORT_H

#include "hip/code/function.h"

/* One JSON line in the report file, or sentences on stderr for a fault when there is none. With the option `overruns`
 * faults other than limits go to stderr as well, and the file gets only launches with a fault, or with findings that no
 * earlier launch had. `span_us`: on the simulated clock, or NULL. */
void report_dispatch(const Function *f, const Dispatch *d, Outcome *o, const double *span_us);

#endif
