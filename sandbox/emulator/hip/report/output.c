#include "hip/report/output.h"

#include "hip/runtime/runtime.h"

#include <stdlib.h>

FILE *report_open(void)
{
    FILE *out = fopen(runtime()->report_path, "a");
    if (!out)
        fprintf(stderr, "amdkernel emulator: AMDKERNEL_EMULATOR_REPORT: cannot write %s\n", runtime()->report_path);
    return out;
}

void report_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

void report_object(CodeObject *c)
{
    char path[4096];
    if (!c->file)
        return;
    snprintf(path, sizeof path, "%s/%u.co", runtime()->objects_path, c->number);
    FILE *out = fopen(path, "wb");
    if (out) {
        fwrite(c->file, 1, c->file_bytes, out);
        fclose(out);
    }
    free(c->file);
    c->file = NULL;
}
