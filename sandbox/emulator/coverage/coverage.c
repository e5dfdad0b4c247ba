/*
 * Says which instructions of code objects the emulator does not know. A line of JSON each:
 *   coverage FOLDER FILE…   for every image in the files; FOLDER gets the images' ELF files, for a symbolizer
 *   coverage --arch ARCH    for every instruction of an architecture that the disassembler knows
 *   coverage --rows         for every row of the emulator's tables
 * Runs in the sandbox: files are not to be trusted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "coverage/encodings.h"
#include "coverage/images.h"
#include "isa/rows.h"
#include "machine/fault.h"

/* ---- JSON ---- */

static void print_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

/* ---- what is missing: a mnemonic in a function ---- */

typedef struct {
    char mnemonic[64];
    const char *function;
    char *text; /* of the first one */
    u64 count, address;
} Missing;

typedef struct { Missing *item; u32 count; u64 instructions; const Image *image; char error[256]; } Report;

enum { MOST_MISSING = 4096 };

static void mnemonic_of(const char *text, char *out, size_t bytes)
{
    static const char *const endings[] = {"_e32", "_e64", "_dpp", "_sdwa"};
    size_t n = *text == '(' ? strlen(text) : strcspn(text, " \t");
    snprintf(out, bytes, "%.*s", (int)n, text);
    for (int again = 0; again < 2; again++)
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
            size_t length = strlen(out), end = strlen(endings[k]);
            if (length > end && !strcmp(out + length - end, endings[k]))
                out[length - end] = 0;
        }
}

static void add(Report *r, const char *text, u64 address)
{
    char mnemonic[sizeof r->item->mnemonic];
    const char *function = image_function(r->image, address);
    mnemonic_of(text, mnemonic, sizeof mnemonic);
    for (u32 k = 0; k < r->count; k++)
        if (!strcmp(r->item[k].mnemonic, mnemonic) && !strcmp(r->item[k].function, function)) {
            r->item[k].count++;
            return;
        }
    if (r->count == MOST_MISSING)
        return;
    Missing *m = &r->item[r->count++];
    *m = (Missing){.function = function, .text = strdup(text), .count = 1, .address = address};
    memcpy(m->mnemonic, mnemonic, sizeof mnemonic);
}

/* The linker fills the space between functions with zeros; on RDNA a zero is not an instruction. */
static bool is_padding(const Report *r, const Code *code, u32 offset)
{
    static const u8 zero[4];
    return offset + 4 <= code->size && !memcmp(code->bytes + offset, zero, 4) &&
           !*image_function(r->image, code->address + offset);
}

static void look_at_code(const Code *code, void *context)
{
    Report *r = context;
    u8 *copy = malloc(code->size + 8); /* aligned, as the decoder takes dwords */
    if (copy)
        memcpy(copy, code->bytes, code->size);
    u32 lanes = image_wave_size(r->image);
    Program *p = copy ? program_decode(r->image->arch, lanes, (u64)copy, code->size, r->error, sizeof r->error) : NULL;
    for (u32 n = 0; p && n < p->count; n++) {
        if (is_padding(r, code, p->offset_of[n]))
            continue;
        r->instructions++;
        if (p->code[n].run == fault_not_emulated)
            add(r, p->text + p->code[n].text, code->address + p->offset_of[n]);
    }
    program_destroy(p);
    free(copy);
}

static void print_report(const Report *r, int file, int number)
{
    printf("{\"file\": %d, \"image\": %d, \"arch\": ", file, number);
    print_string(r->image->arch);
    printf(", \"instructions\": %llu, \"error\": ", (unsigned long long)r->instructions);
    print_string(r->error);
    printf(", \"missing\": [");
    for (u32 k = 0; k < r->count; k++) {
        const Missing *m = &r->item[k];
        printf("%s{\"mnemonic\": ", k ? ", " : "");
        print_string(m->mnemonic);
        printf(", \"count\": %llu, \"address\": %llu, \"function\": ", (unsigned long long)m->count,
               (unsigned long long)m->address);
        print_string(m->function);
        printf(", \"text\": ");
        print_string(m->text ? m->text : "");
        putchar('}');
    }
    printf("]}\n");
}

/* ---- files ---- */

typedef struct { const char *folder; int file, images; } Job;

static void keep_elf(const Job *job, const Image *image)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%d.elf", job->folder, job->file, job->images);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(image->bytes, 1, image->size, f) != image->size)
        fprintf(stderr, "%s cannot be written\n", path);
    if (f)
        fclose(f);
}

static void look_at_image(const Image *image, void *context)
{
    Job *job = context;
    Report r = {.image = image, .item = calloc(MOST_MISSING, sizeof(Missing))};
    if (!r.item)
        exit(1);
    if (!image_each_code(image, look_at_code, &r))
        snprintf(r.error, sizeof r.error, "the code object is damaged");
    print_report(&r, job->file, job->images);
    if (r.count)
        keep_elf(job, image);
    for (u32 k = 0; k < r.count; k++)
        free(r.item[k].text);
    free(r.item);
    job->images++;
}

static u8 *read_file(const char *path, u64 *size)
{
    FILE *f = fopen(path, "rb");
    long bytes = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    u8 *content = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
    if (content) {
        rewind(f);
        *size = fread(content, 1, (size_t)bytes, f);
    }
    if (f)
        fclose(f);
    return content;
}

static int report_files(const char *folder, char **paths, int count)
{
    for (int k = 0; k < count; k++) {
        Job job = {folder, k, 0};
        u64 size = 0;
        u8 *file = read_file(paths[k], &size);
        if (!file || !images_each(file, size, look_at_image, &job))
            printf("{\"file\": %d, \"image\": null}\n", k);
        free(file);
    }
    return 0;
}

/* ---- an architecture ---- */

static void print_form(const char *mnemonic, bool known, u32 wave_size, const char *text)
{
    printf("{\"mnemonic\": ");
    print_string(mnemonic);
    printf(", \"known\": %s, \"wave\": %u, \"text\": ", known ? "true" : "false", wave_size);
    print_string(text);
    printf("}\n");
}

static void report_form(const Program *p, const Inst *i)
{
    const char *text = p->text + i->text, *second = strstr(text, ":: ");
    char mnemonic[64];
    if (*text == '(' || strstr(text, "Invalid"))
        return;
    for (; text; text = second, second = NULL) { /* each half of a dual instruction */
        const char *name = strncmp(text, ":: ", 3) ? text : text + 3;
        mnemonic_of(name, mnemonic, sizeof mnemonic);
        print_form(mnemonic, i->run != fault_not_emulated, p->wave32 ? 32 : 64, p->text + i->text);
    }
}

static bool report_forms(const char *arch, u32 wave_size, const Samples *s)
{
    char error[256] = "";
    Program *p = program_decode(arch, wave_size, (u64)s->words, (u64)s->word_count * 4, error, sizeof error);
    for (u32 k = 0; p && k < s->count; k++)
        if (p->index_of[s->starts[k]] != ~0u)
            report_form(p, &p->code[p->index_of[s->starts[k]]]);
    if (!p)
        fprintf(stderr, "%s\n", error);
    program_destroy(p);
    return p;
}

static int report_arch(const char *arch)
{
    Samples s;
    bool one_size = !strncmp(arch, "gfx9", 4);
    bool done = encodings_create(arch, &s) && (one_size || report_forms(arch, 32, &s)) && report_forms(arch, 64, &s);
    encodings_destroy(&s);
    return done ? 0 : 2;
}

static int report_rows(void)
{
    for (u32 t = 0; t < isa_table_count; t++)
        for (u32 k = 0; k < isa_tables[t]->count; k++) {
            print_string(isa_tables[t]->rows[k].mnemonic);
            putchar('\n');
        }
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 2 && !strcmp(arguments[1], "--rows"))
        return report_rows();
    if (count == 3 && !strcmp(arguments[1], "--arch"))
        return report_arch(arguments[2]);
    if (count > 2)
        return report_files(arguments[1], arguments + 2, count - 2);
    fprintf(stderr, "usage: coverage FOLDER FILE… | coverage --arch ARCH | coverage --rows\n");
    return 2;
}
