/*
 * Loads an ELF file of amdgcn into device memory: segments, relocations, symbols, metadata.
 * Source: the ELF-64 specification; LLVM AMDGPUUsage, "ELF Code Object" and "Relocation Records".
 */
#include "hip/code/code_object.h"

#include "hip/code/target.h"
#include "hip/devices/device.h"
#include "hip/runtime/runtime.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINE_AMDGPU = 224, NOTE_AMDGPU_METADATA = 32, LARGEST_IMAGE = 1 << 30, PAGE = 4096 };
enum { /* R_AMDGPU_… */
    RELOCATION_NONE = 0, ABS32_LO = 1, ABS32_HI = 2, ABS64 = 3, REL32 = 4, REL64 = 5, ABS32 = 6, RELATIVE64 = 13
};

typedef struct {
    const u8 *file;
    size_t bytes;
    Elf64_Ehdr header;
    u64 span; /* bytes of the image in memory */
    CodeObject *out;
    char *why;
    size_t why_bytes;
} Loader;

static hipError_t reject(Loader *l, hipError_t error, const char *reason)
{
    snprintf(l->why, l->why_bytes, "%s", reason);
    return error;
}

/* `bytes` at `offset` of the file; NULL when they are not in it. */
static const u8 *part(const Loader *l, u64 offset, u64 bytes)
{
    return offset <= l->bytes && bytes <= l->bytes - offset ? l->file + offset : NULL;
}

static bool segment(const Loader *l, u32 i, Elf64_Phdr *out)
{
    const u8 *at = part(l, l->header.e_phoff + (u64)i * sizeof *out, sizeof *out);
    if (at)
        memcpy(out, at, sizeof *out);
    return at != NULL;
}

static bool section(const Loader *l, u32 i, Elf64_Shdr *out)
{
    const u8 *at = i < l->header.e_shnum ? part(l, l->header.e_shoff + (u64)i * sizeof *out, sizeof *out) : NULL;
    if (at)
        memcpy(out, at, sizeof *out);
    return at != NULL;
}

static hipError_t read_header(Loader *l)
{
    const u8 *at = part(l, 0, sizeof l->header);
    if (!at)
        return reject(l, hipErrorInvalidImage, "the ELF file is cut off");
    memcpy(&l->header, at, sizeof l->header);
    const Elf64_Ehdr *h = &l->header;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != MACHINE_AMDGPU)
        return reject(l, hipErrorInvalidImage, "the ELF file is not one for an AMD GPU");
    if (h->e_type != ET_DYN || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_shentsize != sizeof(Elf64_Shdr))
        return reject(l, hipErrorInvalidImage, "the ELF file is not a linked code object");
    for (u32 i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        if (!segment(l, i, &p))
            return reject(l, hipErrorInvalidImage, "the ELF file is cut off");
        if (p.p_type != PT_LOAD)
            continue;
        if (p.p_vaddr > LARGEST_IMAGE || p.p_memsz > LARGEST_IMAGE || p.p_filesz > p.p_memsz ||
            !part(l, p.p_offset, p.p_filesz))
            return reject(l, hipErrorInvalidImage, "a segment of the code object lies outside the file");
        if (p.p_vaddr + p.p_memsz > l->span)
            l->span = p.p_vaddr + p.p_memsz;
    }
    return l->span ? hipSuccess : reject(l, hipErrorInvalidImage, "the code object is empty");
}

/* A file that was linked from several objects has a note for each of them. */
static hipError_t read_segment_notes(Loader *l, const Elf64_Phdr *p, u32 *found)
{
    for (u64 at = 0; at <= p->p_filesz && p->p_filesz - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr n;
        memcpy(&n, l->file + p->p_offset + at, sizeof n);
        u64 start = at + sizeof n + ((n.n_namesz + 3ull) & ~3ull);
        if (start > p->p_filesz || n.n_descsz > p->p_filesz - start)
            break;
        if (n.n_type == NOTE_AMDGPU_METADATA) {
            const char *why = metadata_read(l->file + p->p_offset + start, n.n_descsz, &l->out->metadata);
            if (why)
                return reject(l, hipErrorInvalidImage, why);
            ++*found;
        }
        at = start + ((n.n_descsz + 3ull) & ~3ull);
    }
    return hipSuccess;
}

static hipError_t read_notes(Loader *l)
{
    hipError_t error = hipSuccess;
    u32 found = 0;
    for (u32 i = 0; i < l->header.e_phnum && error == hipSuccess && !found; i++) {
        Elf64_Phdr p;
        if (segment(l, i, &p) && p.p_type == PT_NOTE && part(l, p.p_offset, p.p_filesz))
            error = read_segment_notes(l, &p, &found);
    }
    return found || error != hipSuccess ? error : reject(l, hipErrorInvalidImage, "the code object has no metadata");
}

/* The header decides, as it does for AMD's runtime. What the metadata say of the target is for the reason alone. */
static hipError_t check_target(Loader *l, const char *gpu)
{
    Target t;
    const char *said = l->out->metadata.target;
    if (!target_read(&l->header, &t, l->why, l->why_bytes)) {
        size_t used = strlen(l->why);
        if (*said)
            snprintf(l->why + used, l->why_bytes - used, ", though the metadata say %s", said);
        return hipErrorInvalidImage;
    }
    if (target_fits(&t, gpu))
        return hipSuccess;
    snprintf(l->why, l->why_bytes, "the code object is for %s, but the device is a %s", t.name, gpu);
    return hipErrorNoBinaryForGpu;
}

/* What is read-only once it is relocated: tables of the file, no variables. And a byte alone, which is the compiler's
 * `__hip_cuid_…`: each access is compared with the rest. */
static bool is_only_of_the_loader(const Loader *l, const Elf64_Phdr *p)
{
    if (p->p_memsz <= 1)
        return true;
    for (u32 i = 0; i < l->header.e_phnum; i++) {
        Elf64_Phdr r;
        if (segment(l, i, &r) && r.p_type == PT_GNU_RELRO && p->p_vaddr >= r.p_vaddr &&
            p->p_vaddr + p->p_memsz <= r.p_vaddr + r.p_memsz)
            return true;
    }
    return false;
}

static hipError_t place_segments(Loader *l)
{
    Memory *memory = runtime()->memory;
    l->out->block = memory_allocate_mapped(memory, l->span + PAGE, runtime()->options.overruns ? PAGE : 1);
    if (!l->out->block)
        return reject(l, hipErrorOutOfMemory, "no device memory for the code object");
    l->out->base = (l->out->block + PAGE - 1) & ~(u64)(PAGE - 1);
    memset((void *)(uintptr_t)l->out->block, 0, l->span + PAGE);
    for (u32 i = 0; i < l->header.e_phnum; i++) {
        Elf64_Phdr p;
        if (!segment(l, i, &p) || p.p_type != PT_LOAD)
            continue;
        memcpy((void *)(uintptr_t)(l->out->base + p.p_vaddr), l->file + p.p_offset, p.p_filesz);
        if (p.p_memsz)
            memory_describe(memory, l->out->base + p.p_vaddr, p.p_memsz,
                            p.p_flags & PF_W ? "variables of the code object" : "the code object", p.p_flags & PF_W);
        if (p.p_flags & PF_W && runtime()->options.check_memory && !is_only_of_the_loader(l, &p))
            memory_watch_variables(memory, l->out->base + p.p_vaddr, p.p_memsz);
    }
    return hipSuccess;
}

/* The string at `offset` of a string table section; NULL when it is not terminated inside it. */
static const char *string(const Loader *l, const Elf64_Shdr *table, u64 offset)
{
    const u8 *start = part(l, table->sh_offset, table->sh_size);
    if (!start || offset >= table->sh_size || !memchr(start + offset, 0, table->sh_size - offset))
        return NULL;
    return (const char *)start + offset;
}

static hipError_t read_symbols(Loader *l, const Elf64_Shdr *dynsym)
{
    Elf64_Shdr strings;
    u64 count = dynsym->sh_size / sizeof(Elf64_Sym);
    if (!part(l, dynsym->sh_offset, dynsym->sh_size) || !section(l, dynsym->sh_link, &strings))
        return reject(l, hipErrorInvalidImage, "the symbols lie outside the file");
    l->out->symbols = calloc(count ? count : 1, sizeof *l->out->symbols);
    if (!l->out->symbols)
        return reject(l, hipErrorOutOfMemory, "no memory for the symbols");
    for (u64 i = 0; i < count; i++) {
        Elf64_Sym s;
        memcpy(&s, l->file + dynsym->sh_offset + i * sizeof s, sizeof s);
        const char *name = string(l, &strings, s.st_name);
        if (!name || s.st_value > l->span || s.st_size > l->span - s.st_value)
            return reject(l, hipErrorInvalidImage, "a symbol lies outside the code object");
        Symbol *entry = &l->out->symbols[l->out->symbol_count++]; /* in the file's order: relocations use the index */
        entry->name = strdup(name);
        entry->address = s.st_shndx == SHN_UNDEF ? 0 : l->out->base + s.st_value;
        entry->bytes = s.st_size;
        entry->is_variable = s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_OBJECT;
    }
    return hipSuccess;
}

/* Whether reports may name it: kernel descriptors and hipcc's own symbols are not in the source. */
static bool is_of_the_source(const char *name)
{
    size_t length = strlen(name);
    bool descriptor = length > 3 && !strcmp(name + length - 3, ".kd");
    return length && !descriptor && strncmp(name, "__hip_cuid_", 11) != 0;
}

/* For reports only: invalid entries are skipped. */
static void read_variables(Loader *l, const Elf64_Shdr *symtab)
{
    Elf64_Shdr strings;
    const u8 *symbols = part(l, symtab->sh_offset, symtab->sh_size);
    u64 count = symtab->sh_size / sizeof(Elf64_Sym);
    if (!symbols || !section(l, symtab->sh_link, &strings) || !(l->out->variables = calloc(count + 1, sizeof(Symbol))))
        return;
    for (u64 i = 0; i < count; i++) {
        Elf64_Sym s;
        memcpy(&s, symbols + i * sizeof s, sizeof s);
        const char *name = string(l, &strings, s.st_name);
        bool inside = s.st_value <= l->span && s.st_size <= l->span - s.st_value && s.st_shndx != SHN_UNDEF;
        if (!name || !inside || !s.st_size || ELF64_ST_TYPE(s.st_info) != STT_OBJECT || !is_of_the_source(name))
            continue;
        Symbol v = {.name = strdup(name), .address = l->out->base + s.st_value, .bytes = s.st_size, .is_variable = true};
        if (v.name)
            l->out->variables[l->out->variable_count++] = v;
    }
}

static hipError_t relocate_one(Loader *l, const Elf64_Rela *r)
{
    u32 type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);
    u64 width = type == ABS64 || type == REL64 || type == RELATIVE64 ? 8 : 4;
    if (type == RELOCATION_NONE)
        return hipSuccess;
    if (r->r_offset > l->span || width > l->span - r->r_offset || (index && index >= l->out->symbol_count))
        return reject(l, hipErrorInvalidImage, "a relocation lies outside the code object");
    u64 symbol = 0;
    if (index && !(symbol = l->out->symbols[index].address)) {
        snprintf(l->why, l->why_bytes, "the symbol %s is not defined", l->out->symbols[index].name);
        return hipErrorSharedObjectSymbolNotFound;
    }
    u64 place = l->out->base + r->r_offset, value = symbol + (u64)r->r_addend;
    switch (type) {
    case ABS64: case ABS32: case ABS32_LO: break;
    case ABS32_HI: value >>= 32; break;
    case REL32: case REL64: value -= place; break;
    case RELATIVE64: value = l->out->base + (u64)r->r_addend; break;
    default: return reject(l, hipErrorInvalidImage, "the code object has a relocation of an unknown kind");
    }
    memcpy((void *)(uintptr_t)place, &value, width);
    return hipSuccess;
}

static hipError_t relocate(Loader *l, const Elf64_Shdr *rela)
{
    if (!part(l, rela->sh_offset, rela->sh_size))
        return reject(l, hipErrorInvalidImage, "the relocations lie outside the file");
    for (u64 at = 0; at + sizeof(Elf64_Rela) <= rela->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, l->file + rela->sh_offset + at, sizeof r);
        hipError_t error = relocate_one(l, &r);
        if (error != hipSuccess)
            return error;
    }
    return hipSuccess;
}

static hipError_t read_sections(Loader *l)
{
    Elf64_Shdr s;
    hipError_t error = hipSuccess;
    for (u32 i = 0; error == hipSuccess && section(l, i, &s); i++) {
        if (s.sh_type == SHT_DYNSYM && !l->out->symbols)
            error = read_symbols(l, &s);
        if (s.sh_type == SHT_PROGBITS && s.sh_flags & SHF_EXECINSTR && !l->out->text && s.sh_addr <= l->span &&
            s.sh_size <= l->span - s.sh_addr) {
            l->out->text = l->out->base + s.sh_addr;
            l->out->text_bytes = s.sh_size;
        }
    }
    for (u32 wanted = SHT_SYMTAB, pass = 0; pass < 2; wanted = SHT_DYNSYM, pass++) /* stripped files have only the second */
        for (u32 i = 0; error == hipSuccess && !l->out->variables && section(l, i, &s); i++)
            if (s.sh_type == wanted)
                read_variables(l, &s);
    for (u32 i = 0; error == hipSuccess && section(l, i, &s); i++)
        if (s.sh_type == SHT_RELA && s.sh_flags & SHF_ALLOC)
            error = relocate(l, &s);
    return error;
}

/* Metadata need not say what the kernel's descriptor, its first three words, says as well. */
static void complete_metadata(const CodeObject *c)
{
    for (u32 n = 0; n < c->metadata.kernel_count; n++) {
        KernelMetadata *k = &c->metadata.kernels[n];
        const Symbol *s = code_object_symbol(c, k->symbol);
        u32 *sizes[] = {&k->lds_bytes, &k->scratch_bytes, &k->kernarg_bytes};
        for (u32 word = 0; s && s->bytes >= sizeof(u32[3]) && word < 3; word++)
            if (!*sizes[word])
                memcpy(sizes[word], (const u32 *)(uintptr_t)s->address + word, sizeof(u32));
    }
}

/* Programs may load hundreds of code objects. Beyond this limit reports have no source lines. */
static void keep_file(Loader *l)
{
    enum { MOST_KEPT = 256 };
    static u32 kept;
    if (kept == MOST_KEPT || !(l->out->file = malloc(l->bytes)))
        return;
    memcpy(l->out->file, l->file, l->bytes);
    l->out->file_bytes = l->bytes;
    l->out->number = ++kept;
}

hipError_t code_object_load(const void *file, size_t bytes, CodeObject **out, char *why, size_t why_bytes)
{
    const char *gpu = device()->target;
    Loader l = {.why = why, .why_bytes = why_bytes, .out = calloc(1, sizeof(CodeObject))};
    if (!l.out)
        return hipErrorOutOfMemory;
    void *owned;
    hipError_t error = bundle_find(file, bytes, gpu, &l.file, &l.bytes, &owned, why, why_bytes);
    if (error == hipSuccess)
        error = read_header(&l);
    if (error == hipSuccess)
        error = read_notes(&l);
    if (error == hipSuccess)
        error = check_target(&l, gpu);
    if (error == hipSuccess)
        error = place_segments(&l);
    if (error == hipSuccess)
        error = read_sections(&l);
    if (error == hipSuccess)
        complete_metadata(l.out);
    if (error == hipSuccess && runtime()->objects_path)
        keep_file(&l);
    free(owned);
    if (error != hipSuccess)
        code_object_unload(l.out);
    *out = error == hipSuccess ? l.out : NULL;
    return error;
}

void code_object_unload(CodeObject *c)
{
    metadata_free(&c->metadata);
    for (u32 i = 0; i < c->symbol_count; i++)
        free(c->symbols[i].name);
    for (u32 i = 0; i < c->variable_count; i++)
        free(c->variables[i].name);
    free(c->variables);
    free(c->file);
    program_destroy(c->program[0]);
    program_destroy(c->program[1]);
    if (c->block)
        memory_release(runtime()->memory, c->block);
    free(c->symbols);
    free(c);
}

const Symbol *code_object_symbol(const CodeObject *c, const char *name)
{
    for (u32 i = 0; i < c->symbol_count; i++)
        if (c->symbols[i].address && !strcmp(c->symbols[i].name, name))
            return &c->symbols[i];
    return NULL;
}

const Symbol *code_object_variable(const CodeObject *c, u64 address, u64 start, u64 bytes)
{
    const Symbol *best = NULL;
    for (u32 i = 0; i < c->variable_count; i++) {
        const Symbol *v = &c->variables[i];
        if (v->address - start < bytes && v->address <= address && (!best || v->address > best->address))
            best = v;
    }
    return best;
}

u64 code_object_text_after(const CodeObject *c, u64 address)
{
    u64 end = c->text + c->text_bytes;
    for (u32 i = 0; i < c->symbol_count; i++) {
        const Symbol *s = &c->symbols[i];
        if (!s->is_variable && s->address > address && s->address < end)
            end = s->address;
    }
    return end;
}

const KernelMetadata *code_object_kernel(const CodeObject *c, const char *name)
{
    for (u32 i = 0; i < c->metadata.kernel_count; i++)
        if (!strcmp(c->metadata.kernels[i].name, name))
            return &c->metadata.kernels[i];
    return NULL;
}
