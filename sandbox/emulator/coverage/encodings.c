/* Source: CDNA3 ISA and CDNA4 ISA, RDNA3 ISA and RDNA4 ISA, "Microcode formats". */
#include "coverage/encodings.h"

#include <stdlib.h>

/* A format: its fixed bits, where the opcode lies, how many there are and words, and what fills the operands. */
typedef struct {
    u32 fixed, shift, opcodes, words;
    u32 fill[8][3]; /* or-ed to the words; used while any is not zero, the first always */
} Format;

enum { FILLS = 8, PADDING = 4, S_NOP = 0xbf800000 };

#define V(n) (256u + (n))
#define THREE(a, b, c) ((u32)(a) | (u32)(b) << 9 | (u32)(c) << 18)

/* The disassembler takes only forms whose unused fields are zero: with and without a result, one source or two. */
#define DS_FORMAT(shift) \
    {0xd8000000, shift, 256, 2, \
     {{0, 0x06040200}, {0, 0x06000200}, {0, 0x06000002}, {0, 0x00040200}, {0, 0x00000200}, {0, 0x06000000}}}

/* Operands keep to even registers: pairs need them. */
static const Format gfx9[] = {
    {0x80000000, 23, 96, 1, {{0x00040402}}},                                      /* SOP2 */
    {0xb0000000, 23, 30, 1, {{0x00040000}}},                                      /* SOPK */
    {0xbe800000, 8, 256, 1, {{0x00040004}}},                                      /* SOP1 */
    {0xbf000000, 16, 128, 1, {{0x00000402}}},                                     /* SOPC */
    {0xbf800000, 16, 128, 1, {{0}}},                                              /* SOPP */
    {0xc0000000, 18, 256, 2, {{1u << 17 | 8u << 6 | 2, 0x10}, {8u << 6 | 2, 0x10}}}, /* SMEM */
    {0x00000000, 25, 62, 1, {{V(2) | 2u << 9 | 4u << 17}, {4 | 2u << 9 | 4u << 17}}}, /* VOP2 */
    {0x7e000000, 9, 256, 1, {{0}, {V(2) | 4u << 17}, {4 | 4u << 17}}},            /* VOP1 */
    {0x7c000000, 17, 256, 1, {{V(2) | 2u << 9}}},                                 /* VOPC */
    {0xd0000000, 16, 1024, 2,
     {{4, THREE(V(8), V(10), V(4))}, {4, THREE(4, 6, 8)}, {4, THREE(V(0), V(2), 4)}, {4, THREE(V(0), 0, 0)}, {4, THREE(4, 6, 0)}}}, /* VOP3, VOP3P */
    DS_FORMAT(17),
    {0xdc000000, 18, 128, 2, {{0, 0x04000200}, {1u << 16, 0x04000200}, {0, 0x04000000}, {0, 0x00000200}}}, /* FLAT */
    {0xdc004000, 18, 128, 2, {{0, 0x047f0200}, {1u << 16, 0x047f0200}}},          /* SCRATCH */
    {0xdc008000, 18, 128, 2, {{0, 0x047f0200}, {1u << 16, 0x047f0200}, {0, 0x04040200}}}, /* GLOBAL */
    {0xe0000000, 18, 128, 2, {{0, 0x80010400}, {1u << 12, 0x80010402}, {1u << 16, 0x80010400}}}, /* MUBUF */
    {0xe8000000, 15, 16, 2, {{1u << 19 | 4u << 23, 0x80010402}}},                 /* MTBUF */
};

/* What RDNA3 and RDNA4 share. Of dual instructions each half is listed with a move as the other. */
#define RDNA_FORMATS \
    {0x80000000, 23, 96, 1, {{0x00040402}}},                                      /* SOP2 */ \
    {0xb0000000, 23, 29, 1, {{0x00040000}}},                                      /* SOPK */ \
    {0xbe800000, 8, 256, 1, {{0x00040004}, {0x000400c1}, {0x0004007d}}},          /* SOP1 */ \
    {0xbf000000, 16, 128, 1, {{0x00000402}}},                                     /* SOPC */ \
    {0xbf800000, 16, 128, 1, {{0}, {0x0000ffff}}},                                /* SOPP */ \
    {0x00000000, 25, 62, 1, {{V(2) | 2u << 9 | 4u << 17}, {4 | 2u << 9 | 4u << 17}}}, /* VOP2 */ \
    {0x7e000000, 9, 256, 1, {{V(2) | 4u << 17}, {4 | 4u << 17}}},                 /* VOP1 */ \
    {0x7c000000, 17, 256, 1, {{V(2) | 2u << 9}}},                                 /* VOPC */ \
    {0xd4000000, 16, 1024, 2, \
     {{4, THREE(V(8), V(10), V(4))}, {4, THREE(4, 6, 8)}, {4, THREE(V(0), V(2), 4)}, {4, THREE(V(8), V(10), 0)}, \
      {4, THREE(4, 6, 0)}, {4, THREE(4, 0, 0)}, {4, THREE(V(8), 6, 4)}, {4, THREE(V(8), 6, 0)}}}, /* VOP3 */ \
    {0xcc000000, 16, 128, 2, {{4 | 1u << 14, THREE(V(16), V(32), V(4)) | 3u << 27}, {4 | 1u << 14, THREE(V(16), V(32), 0) | 3u << 27}}}, /* VOP3P */ \
    {0xc8000000, 22, 16, 2, {{V(2) | 3u << 9 | 8u << 17, V(5) | 2u << 17 | 4u << 24}, {V(2) | 8u << 17, V(5) | 2u << 17 | 4u << 24}}}, /* VOPD, first */ \
    {0xca000000, 17, 32, 2, {{V(2), V(5) | 6u << 9 | 2u << 17 | 4u << 24}, {V(2), V(5) | 2u << 17 | 4u << 24}}}, /* VOPD, second */ \
    {0xcd000000, 16, 8, 2, {{4, THREE(V(8), V(10), V(4))}}},                      /* VINTERP */ \
    DS_FORMAT(18)

/* Source: RDNA3 ISA, "Microcode formats". */
static const Format gfx11[] = {
    RDNA_FORMATS,
    {0xf4000000, 18, 256, 2, {{8u << 6 | 2, 0xf8000010}}},                        /* SMEM */
    {0xce000000, 20, 4, 1, {{0x4}}},                                              /* LDSDIR */
    {0xdc000000, 18, 128, 2, {{0, 0x047c0200}, {1u << 14, 0x047c0200}}},          /* FLAT */
    {0xdc010000, 18, 128, 2, {{0, 0x047c0200}, {1u << 14, 0x047c0200}}},          /* SCRATCH */
    {0xdc020000, 18, 128, 2, {{0, 0x047c0200}, {1u << 14, 0x047c0200}, {0, 0x04040200}}}, /* GLOBAL */
    {0xe0000000, 18, 256, 2, {{0, 0x80010400}, {0, 0x80c10402}, {1u << 14, 0x80010400}}}, /* MUBUF */
    {0xe8000000, 15, 16, 2, {{1u << 19, 0x80c10402}}},                            /* MTBUF */
    {0xf0000000, 18, 128, 2, {{0x0f00, 0x04020204}, {0x0f00 | 1u << 14, 0x04020204}}}, /* MIMG */
    {0xf8000000, 4, 32, 2, {{0xf, 0x03020100}}},                                  /* EXP, by target */
};

/* Source: RDNA4 ISA, "Microcode formats". */
static const Format gfx12[] = {
    RDNA_FORMATS,
    {0xf4000000, 13, 64, 2, {{8u << 6 | 2, 0xf8000010}}},                         /* SMEM */
    {0xce000000, 20, 4, 1, {{0x4}}},                                              /* VDSDIR */
    {0xec00007c, 14, 256, 3, {{0, 0x01000004, 0x02}, {0, 0x01100004, 0x02}}},     /* VFLAT */
    {0xed00007c, 14, 256, 3, {{0, 0x01000004, 0x02}, {0, 0x01020004, 0x02}}},     /* VSCRATCH */
    {0xee00007c, 14, 256, 3, {{0, 0x01000004, 0x02}, {0, 0x01100004, 0x02}}},     /* VGLOBAL */
    {0xc4000000, 14, 256, 3, {{0x7c, 0x00801004, 0x02}, {0x7c, 0x00901004, 0x02}, {0x7c, 0xc0801004, 0x02}}}, /* VBUFFER */
    {0xd0000000, 14, 256, 3, {{0x03c00000, 0x00001004, 0x04}}},                   /* VIMAGE */
    {0xe4000000, 14, 256, 3, {{0x03c00000, 0x04001004, 0x04}}},                   /* VSAMPLE */
    {0xf8000000, 4, 32, 2, {{0xf, 0x03020100}}},                                  /* VEXPORT, by target */
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
            u32 words[3] = {f->fixed | opcode << f->shift | f->fill[k][0], f->fill[k][1], f->fill[k][2]};
            add(s, words, f->words);
        }
}

static void add_formats(Samples *s, const Format *formats, size_t count)
{
    for (size_t k = 0; k < count; k++)
        add_format(s, &formats[k]);
}

bool encodings_create(const char *arch, Samples *out)
{
    enum { MOST_SAMPLES = 16384, MOST_WORDS = MOST_SAMPLES * (PADDING + 4) };
    *out = (Samples){.words = malloc(MOST_WORDS * sizeof(u32)), .starts = malloc(MOST_SAMPLES * sizeof(u32))};
    if (!out->words || !out->starts)
        return false;
    if (!strncmp(arch, "gfx11", 5)) {
        add_formats(out, gfx11, sizeof gfx11 / sizeof *gfx11);
    } else if (!strncmp(arch, "gfx12", 5)) {
        add_formats(out, gfx12, sizeof gfx12 / sizeof *gfx12);
    } else if (!strncmp(arch, "gfx9", 4)) {
        add_formats(out, gfx9, sizeof gfx9 / sizeof *gfx9);
        for (size_t k = 0; k < sizeof scaled_products / sizeof *scaled_products; k++)
            add(out, scaled_products[k], 4);
    }
    return true;
}

void encodings_destroy(Samples *s)
{
    free(s->words);
    free(s->starts);
}
