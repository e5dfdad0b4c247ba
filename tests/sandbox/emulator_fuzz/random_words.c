/* Disassembles random words: random_words ARCH COUNT. Then one that is known to crash LLVM, and one after it that is fine. */
#include <stdio.h>
#include <stdlib.h>

#include "decode/disassembler.h"

static u64 next_random(u64 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A matrix instruction of gfx90a with a literal that it has no room for; then v_mov_b32 v0, v1. */
static int recovers(const char *arch)
{
    u32 bad[4] = {0xd3d4cb29, 0x7a9a88ff, 0x818e622e, 0x1984356a}, good[4] = {0x7e000301};
    char text[512] = "", error[256];
    Disassembler *d = disassembler_open(arch, 0, error, sizeof error);
    for (int k = 0; k < 20; k++)
        disassembler_read(d, (u8 *)bad, sizeof bad, 0, text, sizeof text);
    size_t n = disassembler_read(d, (u8 *)good, sizeof good, 0, text, sizeof text);
    disassembler_close(d);
    return n == 4;
}

int main(int count, char **arguments)
{
    u64 state = 88172645463325252;
    char error[256];
    Disassembler *d = count == 3 ? disassembler_open(arguments[1], 0, error, sizeof error) : NULL;
    if (!d)
        return 1;
    long words = atol(arguments[2]), known = 0;
    for (long k = 0; k < words; k++) {
        char text[512] = "";
        u32 word[4];
        for (int j = 0; j < 4; j++)
            word[j] = (u32)next_random(&state);
        if (k & 1) /* the encodings with three operands, among which the crashes are */
            word[0] = (word[0] & 0x0fffffff) | 0xd0000000;
        known += disassembler_read(d, (u8 *)word, sizeof word, 0, text, sizeof text) != 0;
    }
    disassembler_close(d);
    if (!recovers(arguments[1]))
        return 1;
    printf("%s %ld\n", arguments[1], known);
    return 0;
}
