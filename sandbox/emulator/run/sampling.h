/* Whether a dispatch is sampled: its sample runs, then either it speaks for all or the others run as well. */
#ifndef AMDKERNEL_RUN_SAMPLING_H
#define AMDKERNEL_RUN_SAMPLING_H

#include "run/worker.h"

/* `refused`: why there is no sample; empty: there is one, or none was wanted. */
typedef struct { bool wanted; u64 ran; char refused[120]; } Sampling;

/* Shortens the queue to a sample, where one is wanted and may speak for all. */
Sampling sampling_begin(Queue *q);
/* All workgroups of the queue have ended. True: now there are more, and the workers are ready for them. */
bool sampling_goes_on(Sampling *s, Queue *q, WorkerThread *workers, u32 count);
/* Adds what the sample counted, scaled if it speaks for all; the waves of the dispatch. */
u64 sampling_gather(const Sampling *s, const Queue *q, PcExecutions *sum, Outcome *out);

#endif
