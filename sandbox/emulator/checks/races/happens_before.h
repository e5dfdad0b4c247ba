/*
 * What happened before what. Each wave has a vector clock: the last epoch of every other wave that it knows of. Barriers,
 * releases and signals pass epochs on; an access happened before another when its epoch is known there.
 */
#ifndef AMDKERNEL_CHECKS_RACES_HAPPENS_BEFORE_H
#define AMDKERNEL_CHECKS_RACES_HAPPENS_BEFORE_H

#include "checks/races/state.h"

SyncTable *happens_before_table_create(u32 limit);
void happens_before_table_clear(SyncTable *t);
void happens_before_table_destroy(SyncTable *t);

void happens_before_start(Races *r, GroupShadow *g, u32 waves);
void happens_before_destroy(HappensBefore *o);
/* All accesses of the workgroup before are known to all its waves after. */
void happens_before_barrier(Races *r, GroupShadow *g);
/* What the wave did so far may be learnt by other workgroups. */
void happens_before_release(Races *r, Wave *w, Certainty c);
/* A signal is about to be stored, or a barrier passed: a wave with no store on its way needs no release by waiting. */
void happens_before_release_idle(Races *r, HappensBefore *o);
/* What others released POSSIBLE before signals that this wave saw is known from here on. */
void happens_before_acquire(Races *r, Wave *w);
/* Accesses of the wave from here on are not known to waves that acquired from it before. */
void happens_before_new_epoch(Races *r, Wave *w);
/* The wave stores to (publishes) or loads from (learns) a place that waves signal through; `to_all`: waves of other
 * workgroups as well; `near`: what those publish counts from the next acquire on. */
void happens_before_publish(Races *r, Wave *w, SyncTable *t, u64 place, bool to_all);
void happens_before_learn(Races *r, Wave *w, SyncTable *t, u64 place, bool near);
/* The wave saw a plain store of another that was a signal. */
void happens_before_learn_from(Races *r, Wave *w, const Entry *e, bool near);
bool happens_before_knows(const Races *r, const Wave *w, const Entry *e, u32 began);
u32 happens_before_wave(const Races *r, const Wave *w);

#endif
