/* Prints each instruction of a code object's .text (a raw file) that the emulator does not know. */
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

static u8 *read_file(const char *path, u64 *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *bytes = (u64)ftell(f);
    rewind(f);
    u8 *content = malloc(*bytes + 1);
    if (content && fread(content, 1, *bytes, f) != *bytes)
        *bytes = 0;
    fclose(f);
    return content;
}

int main(int count, char **arguments)
{
    for (int k = 2; k < count; k++) {
        char error[256] = "cannot be read";
        u64 bytes = 0;
        u8 *code = read_file(arguments[k], &bytes);
        Program *p = code ? program_decode(arguments[1], 0, (u64)code, bytes, error, sizeof error) : NULL;
        if (!p) {
            printf("%s: %s\n", arguments[k], error);
            return 1;
        }
        for (u32 n = 0; n < p->count; n++)
            if (p->code[n].run == run_not_emulated)
                printf("%s\n", p->text + p->code[n].text);
        program_destroy(p);
        free(code);
    }
    return 0;
}
