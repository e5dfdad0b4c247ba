/* Faults and findings as sentences on stderr, for a person. */
#ifndef AMDKERNEL_HIP_REPORT_SENTENCES_H
#define AMDKERNEL_HIP_REPORT_SENTENCES_H

#include "hip/code/function.h"

/* All of a dispatch. */
void report_sentences(const Function *f, const Dispatch *d, const Outcome *o);
/* The fault alone. */
void report_fault_sentence(const Function *f, const Dispatch *d, const Fault *fault);

#endif
