#include "hip/report/output.h"

#include "hip/runtime/runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of the file, in which the first %p stands for the number of the process. */
static void report_name(char *name, size_t bytes)
{
    const char *path = runtime()->report_path, *mark = strstr(path, "%p");
    if (mark)
        snprintf(name, bytes, "%.*s%d%s", (int)(mark - path), path, (int)getpid(), mark + 2);
    else
        snprintf(name, bytes, "%s", path);
}

FILE *report_open(void)
{
    char name[4096];
    report_name(name, sizeof name);
    FILE *out = fopen(name, "a");
    if (!out)
        fprintf(stderr, "amdkernel emulator: AMDKERNEL_EMULATOR_REPORT: cannot write %s\n", name);
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
