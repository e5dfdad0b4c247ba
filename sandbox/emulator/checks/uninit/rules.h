/* Which bits of a result are unset, by the bits of its sources. */
#ifndef AMDKERNEL_CHECKS_UNINIT_RULES_H
#define AMDKERNEL_CHECKS_UNINIT_RULES_H

#include "machine/machine.h"

/* A source as the instruction sees it, after modifiers. */
typedef struct { u64 value, unset; } Seen;

typedef struct Rule Rule;
struct Rule {
    const char *with;            /* how mnemonics begin */
    u64 (*unset)(const Rule *r, const Inst *i, const Seen *s, u32 lane);
    u32 detail;
    u32 selects;                 /* sources, a bit each, that choose from the others and do not come into the result */
};

/* For instructions that are not in the table: all depends on all. */
const Rule *uninit_rule_of(const Inst *i);
/* Every bit of the result depends on every bit of all sources. */
bool uninit_depends_on_all(const Rule *r);
/* A bit for each source: a bit of the result depends only on the bit of that source in the same place. */
u32 uninit_sources_in_place(const Rule *r);

#endif
