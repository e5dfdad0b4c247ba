/* Source: the ELF-64 specification; LLVM AMDGPUUsage, "ELF Code Object"; clang documentation, "Clang Offload Bundler". */
#define _GNU_SOURCE /* memmem */
#include "coverage/images.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hip/code/code_object.h"
#include "hip/code/target.h"

enum { MACHINE_AMDGPU = 224 };

/* ---- parts of an ELF file, checked ---- */

static const u8 *part(const u8 *file, u64 size, u64 offset, u64 bytes)
{
    return offset <= size && bytes <= size - offset ? file + offset : NULL;
}

static bool read_header(const u8 *file, u64 size, Elf64_Ehdr *out)
{
    const u8 *at = part(file, size, 0, sizeof *out);
    if (!at)
        return false;
    memcpy(out, at, sizeof *out);
    return !memcmp(out->e_ident, ELFMAG, SELFMAG) && out->e_ident[EI_CLASS] == ELFCLASS64 &&
           (!out->e_shnum || out->e_shentsize == sizeof(Elf64_Shdr));
}

static bool read_section(const u8 *file, u64 size, const Elf64_Ehdr *h, u32 n, Elf64_Shdr *out)
{
    const u8 *at = n < h->e_shnum ? part(file, size, h->e_shoff + (u64)n * sizeof *out, sizeof *out) : NULL;
    if (at)
        memcpy(out, at, sizeof *out);
    return at != NULL;
}

/* The string at `offset` of a string table, NULL when it does not end there. */
static const char *string_at(const u8 *file, u64 size, const Elf64_Shdr *table, u64 offset)
{
    const u8 *start = part(file, size, table->sh_offset, table->sh_size);
    if (!start || offset >= table->sh_size || !memchr(start + offset, 0, table->sh_size - offset))
        return NULL;
    return (const char *)start + offset;
}

/* ---- images in a file ---- */

typedef struct { void (*visit)(const Image *, void *); void *context; bool found; } Visit;

static void visit_elf(const u8 *elf, u64 size, void *context)
{
    Visit *v = context;
    Elf64_Ehdr h;
    if (!read_header(elf, size, &h) || h.e_machine != MACHINE_AMDGPU)
        return;
    const char *arch = target_arch(h.e_flags);
    Image image = {elf, size, arch ? arch : "unknown"};
    v->found = true;
    v->visit(&image, v->context);
}

/* Bundles lie one after the other, with padding between them. */
static void visit_bundles(const u8 *at, u64 size, Visit *v)
{
    static const char *const magics[] = {"__CLANG_OFFLOAD_BUNDLE__", "CCOB"};
    while (size) {
        const u8 *next = NULL;
        for (int k = 0; k < 2; k++) {
            const u8 *found = memmem(at, size, magics[k], strlen(magics[k]));
            if (found && (!next || found < next))
                next = found;
        }
        if (!next)
            return;
        size -= (u64)(next - at);
        bundle_each(next, size, visit_elf, v);
        at = next + 1;
        size--;
    }
}

static void visit_host_sections(const u8 *file, u64 size, const Elf64_Ehdr *h, Visit *v)
{
    Elf64_Shdr names, s;
    if (!read_section(file, size, h, h->e_shstrndx, &names))
        return;
    for (u32 n = 0; read_section(file, size, h, n, &s); n++) {
        const char *name = string_at(file, size, &names, s.sh_name);
        const u8 *content = part(file, size, s.sh_offset, s.sh_size);
        if (name && content && s.sh_type != SHT_NOBITS && !strncmp(name, ".hip_fatbin", 11) && strcmp(name, ".hip_fatbin_segment"))
            visit_bundles(content, s.sh_size, v);
    }
}

bool images_each(const u8 *file, u64 size, void (*visit)(const Image *, void *), void *context)
{
    Visit v = {visit, context, false};
    Elf64_Ehdr h;
    if (!read_header(file, size, &h))
        bundle_each(file, size, visit_elf, &v);
    else if (h.e_machine == MACHINE_AMDGPU)
        visit_elf(file, size, &v);
    else
        visit_host_sections(file, size, &h, &v);
    return v.found;
}

/* ---- code and functions of an image ---- */

bool image_each_code(const Image *image, void (*visit)(const Code *, void *), void *context)
{
    Elf64_Ehdr h;
    Elf64_Shdr s;
    if (!read_header(image->bytes, image->size, &h))
        return false;
    for (u32 n = 0; n < h.e_shnum; n++) {
        if (!read_section(image->bytes, image->size, &h, n, &s))
            return false;
        if (s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_EXECINSTR))
            continue;
        const u8 *bytes = part(image->bytes, image->size, s.sh_offset, s.sh_size);
        if (!bytes)
            return false;
        Code code = {bytes, s.sh_size, s.sh_addr};
        visit(&code, context);
    }
    return true;
}

static const char *function_in(const Image *image, const Elf64_Ehdr *h, const Elf64_Shdr *symbols, u64 address)
{
    Elf64_Shdr strings;
    if (!read_section(image->bytes, image->size, h, symbols->sh_link, &strings))
        return NULL;
    for (u64 at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        const u8 *from = part(image->bytes, image->size, symbols->sh_offset + at, sizeof s);
        if (!from)
            return NULL;
        memcpy(&s, from, sizeof s);
        if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_value <= address && address - s.st_value < s.st_size)
            return string_at(image->bytes, image->size, &strings, s.st_name);
    }
    return NULL;
}

const char *image_function(const Image *image, u64 address)
{
    Elf64_Ehdr h;
    Elf64_Shdr s;
    if (!read_header(image->bytes, image->size, &h))
        return "";
    for (u32 n = 0; read_section(image->bytes, image->size, &h, n, &s); n++) {
        const char *name = s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM ? function_in(image, &h, &s, address) : NULL;
        if (name)
            return name;
    }
    return "";
}

/* ---- kernel descriptors.  LLVM AMDGPUUsage, "Kernel Descriptor" ---- */

enum { DESCRIPTOR_BYTES = 64, DESCRIPTOR_PROPERTIES = 56, WAVE_OF_32 = 1 << 10 };

static const u8 *at_address(const Image *image, const Elf64_Ehdr *h, u64 address, u64 bytes)
{
    Elf64_Shdr s;
    for (u32 n = 0; read_section(image->bytes, image->size, h, n, &s); n++)
        if (s.sh_type != SHT_NOBITS && s.sh_addr <= address && address - s.sh_addr < s.sh_size)
            return part(image->bytes, image->size, s.sh_offset + (address - s.sh_addr), bytes);
    return NULL;
}

static const u8 *first_descriptor(const Image *image, const Elf64_Ehdr *h, const Elf64_Shdr *symbols)
{
    Elf64_Shdr strings;
    if (!read_section(image->bytes, image->size, h, symbols->sh_link, &strings))
        return NULL;
    for (u64 at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        const u8 *from = part(image->bytes, image->size, symbols->sh_offset + at, sizeof s);
        if (!from)
            return NULL;
        memcpy(&s, from, sizeof s);
        const char *name = string_at(image->bytes, image->size, &strings, s.st_name);
        size_t n = name ? strlen(name) : 0;
        if (n > 3 && !strcmp(name + n - 3, ".kd") && s.st_size == DESCRIPTOR_BYTES)
            return at_address(image, h, s.st_value, DESCRIPTOR_BYTES);
    }
    return NULL;
}

u32 image_wave_size(const Image *image)
{
    Elf64_Ehdr h;
    Elf64_Shdr s;
    if (!read_header(image->bytes, image->size, &h))
        return 0;
    for (u32 n = 0; read_section(image->bytes, image->size, &h, n, &s); n++) {
        const u8 *d = s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM ? first_descriptor(image, &h, &s) : NULL;
        if (d)
            return (d[DESCRIPTOR_PROPERTIES] | d[DESCRIPTOR_PROPERTIES + 1] << 8) & WAVE_OF_32 ? 32 : 64;
    }
    return 0;
}
