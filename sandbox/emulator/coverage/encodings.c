/* Source: CDNA3 ISA and CDNA4 ISA, "Microcode formats". */
#include "encodings.h"

#include <stdlib.h>

/* A format: its fixed bits, where the opcode lies and how many there are, and words that fill the operands. */
typedef struct {
    u32 fixed, shift, opcodes;
    u32 fill[4][2]; /* or-ed to the first word, and the second word; used while either is not zero, the first always */
    bool wide;      /* has a second word */
} Format;

enum { FILLS = 4, PADDING = 4, S_NOP = 0xbf800000 };

#define V(n) (256u + (n))
#define THREE(a, b, c) ((u32)(a) | (u32)(b) << 9 | (u32)(c) << 18)

/* Operands keep to even registers: pairs need them. */
static const Format gfx9[] = {
    {0x80000000, 23, 96, {{0x00040402, 0}}, false},                               /* SOP2 */
    {0xb0000000, 23, 30, {{0x00040000, 0}}, false},                               /* SOPK */
    {0xbe800000, 8, 256, {{0x00040004, 0}}, false},                               /* SOP1 */
    {0xbf000000, 16, 128, {{0x00000402, 0}}, false},                              /* SOPC */
    {0xbf800000, 16, 128, {{0, 0}}, false},                                       /* SOPP */
    {0xc0000000, 18, 256, {{1u << 17 | 8u << 6 | 2, 0x10}, {8u << 6 | 2, 0x10}}, true}, /* SMEM */
    {0x00000000, 25, 62, {{V(2) | 2u << 9 | 4u << 17, 0}, {4 | 2u << 9 | 4u << 17, 0}}, false}, /* VOP2 */
    {0x7e000000, 9, 256, {{V(2) | 4u << 17, 0}, {4 | 4u << 17, 0}}, false},       /* VOP1 */
    {0x7c000000, 17, 256, {{V(2) | 2u << 9, 0}}, false},                          /* VOPC */
    {0xd0000000, 16, 1024,
     {{4, THREE(V(8), V(10), V(4))}, {4, THREE(4, 6, 8)}, {4, THREE(V(0), V(2), 4)}, {4, THREE(V(0), 0, 0)}}, true}, /* VOP3, VOP3P */
    {0xd8000000, 17, 256, {{0, 0x06040200}, {0, 0x06000002}}, true},              /* DS */
    {0xdc000000, 18, 128, {{0, 0x047f0200}, {1u << 16, 0x047f0200}}, true},       /* FLAT */
    {0xdc004000, 18, 128, {{0, 0x047f0200}, {1u << 16, 0x047f0200}}, true},       /* SCRATCH */
    {0xdc008000, 18, 128, {{0, 0x047f0200}, {1u << 16, 0x047f0200}, {0, 0x04040200}}, true}, /* GLOBAL */
    {0xe0000000, 18, 128, {{0, 0x80010400}, {1u << 12, 0x80010402}, {1u << 16, 0x80010400}}, true}, /* MUBUF */
    {0xe8000000, 15, 16, {{1u << 19 | 4u << 23, 0x80010402}}, true},              /* MTBUF */
};

/* One VOP3P instruction is longer: a load of the scales goes before the product. */
static const u32 scaled_products[][4] = {
    {0xd3ac0000, 0x00023318, 0xd3ad0800, 0x04521904},
    {0xd3ac0000, 0x00023318, 0xd3ae0800, 0x04521904},
};

static void add(Samples *s, const u32 *words, u32 count)
{
    s->starts[s->count++] = s->word_count;
    memcpy(s->words + s->word_count, words, count * sizeof *words);
    s->word_count += count;
    for (u32 k = 0; k < PADDING; k++) /* so that a literal or a longer form ends before the next sample */
        s->words[s->word_count++] = S_NOP;
}

static void add_format(Samples *s, const Format *f)
{
    for (u32 opcode = 0; opcode < f->opcodes; opcode++)
        for (u32 k = 0; k < FILLS && (!k || f->fill[k][0] || f->fill[k][1]); k++) {
            u32 words[2] = {f->fixed | opcode << f->shift | f->fill[k][0], f->fill[k][1]};
            add(s, words, f->wide ? 2 : 1);
        }
}

bool samples_create(const char *arch, Samples *out)
{
    enum { MOST_SAMPLES = 16384, MOST_WORDS = MOST_SAMPLES * (PADDING + 4) };
    *out = (Samples){.words = malloc(MOST_WORDS * sizeof(u32)), .starts = malloc(MOST_SAMPLES * sizeof(u32))};
    if (!out->words || !out->starts)
        return false;
    if (strncmp(arch, "gfx9", 4) != 0)
        return true;
    for (size_t k = 0; k < sizeof gfx9 / sizeof *gfx9; k++)
        add_format(out, &gfx9[k]);
    for (size_t k = 0; k < sizeof scaled_products / sizeof *scaled_products; k++)
        add(out, scaled_products[k], 4);
    return true;
}

void samples_destroy(Samples *s)
{
    free(s->words);
    free(s->starts);
}
