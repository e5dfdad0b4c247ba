/* What the checks know of each instruction of a program, read off its disassembly once. */
#ifndef AMDKERNEL_NOTES_H
#define AMDKERNEL_NOTES_H

#include "machine/machine.h"

enum { ANNOTATED_OPERANDS = 8 };

/* How an unset value fares in an instruction. */
typedef enum {
    PASS_USED,    /* what the instruction does depends on it */
    PASS_COMPUTED, /* the result depends on it, lane by lane */
    PASS_DUAL,    /* two such in one */
    PASS_MASK,    /* bits of masks are combined */
    PASS_EXCHANGED, /* moved among lanes */
    PASS_CARRIED, /* moved as it is */
    PASS_CHOSEN,  /* v_cndmask, s_cselect: one of two is moved */
    PASS_LANE,    /* v_readfirstlane, v_readlane: one lane is moved */
    PASS_TO_LANE, /* v_writelane */
    PASS_LEFT,    /* a bit is put into it, and it stays where it is */
    PASS_STORED,  /* carried to scratch, used elsewhere: seen where the address is known */
} Passage;

typedef struct {
    u16 first;    /* as operands are numbered in Inst: scalars, then FIRST_VGPR, FIRST_AGPR */
    u8 count;     /* registers; 0: none */
    bool read, result;
} AnnotatedOperand;

/* What an instruction means for the order of memory accesses. */
enum {
    SYNC_ACCESS = 1,      /* a load or store that other waves may rely on: atomic or volatile */
    SYNC_RELEASE = 2,     /* stores before it are seen by all workgroups from here on */
    SYNC_WEAK = 64,       /* the same, but perhaps by chance: it counts for those alone who acquire */
    SYNC_CHANCE = 2048,   /* with SYNC_WEAK: the wait is for a load */
    SYNC_ACQUIRE = 128,   /* loads after it see what other workgroups released before the signals seen so far */
    SYNC_GROUP = 256,     /* an access that only waves of its own workgroup may rely on */
    SYNC_NEAR = 4096,     /* a load that acquires from waves of its own workgroup alone */
    SYNC_POLL = 512,      /* a plain load in a loop that does nothing but wait */
    SYNC_SYSTEM = 1024,   /* volatile, as a rule: atomics name a smaller scope, and in LDS need none */
    SYNC_RETURNS = 4,     /* an atomic that gives the old value back */
    SYNC_COMPARES = 8,    /* compare and swap: beside it a plain read is a habit that does no harm */
    SYNC_EXTREME = 16,    /* minimum or maximum: likewise in global memory, where reads skip needless updates */
    SYNC_BUFFERED = 32,   /* a plain store: on some architectures an atomic one looks the same */
};

typedef struct Annotation {
    AnnotatedOperand operand[ANNOTATED_OPERANDS];
    u8 operands, passage;
    u16 sync;
} Annotation;

/* One for each instruction, made at first use and freed with the program; NULL: out of memory. */
const Annotation *annotations_of(const Program *p);

/* The next instruction in the text that reads what the load brings; the program's count: none near. */
u32 annotations_first_use(const Program *p, const Annotation *annotations, u32 load);

#endif
