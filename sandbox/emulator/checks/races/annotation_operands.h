/* The annotation of an instruction; which registers it reads and writes. */
#ifndef AMDKERNEL_CHECKS_RACES_ANNOTATION_OPERANDS_H
#define AMDKERNEL_CHECKS_RACES_ANNOTATION_OPERANDS_H

#include "decode/operands.h"

enum { ANNOTATED_OPERANDS = 8 };

/* What an instruction does with an uninitialised value. */
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
    u8 half;      /* of one register: 0 both, 1 the lower, 2 the upper */
    bool read, result;
} AnnotatedOperand;

typedef struct Annotation {
    AnnotatedOperand operand[ANNOTATED_OPERANDS];
    u8 operands, passage;
    u16 sync;
    u8 early;     /* behind the last instruction: what waits_search() found */
} Annotation;

/* Adds them to `n`: from its text, which `words` has taken apart, or from its halves. */
void annotation_operands_add(const Program *p, const Words *words, const Inst *i, Annotation *n);

#endif
