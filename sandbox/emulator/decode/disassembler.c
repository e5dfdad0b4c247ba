#include "decode/disassembler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/crash_recovery.h"

struct Disassembler {
    void *library, *context;
    CrashRecovery recovery;
    char arch[16];
    const char *features;
    u32 crashes;
    void *(*create)(const char *triple, const char *cpu, const char *features, void *info, int tags, void *operand_info,
                    void *look_up_symbol);
    size_t (*instruction)(void *context, u8 *code, u64 bytes, u64 pc, char *text, size_t text_bytes);
    void (*dispose)(void *context);
};

/* Newest first; a file name per distribution habit. */
static const char *const library_names[] = {
    "libLLVM.so.22.1", "libLLVM-22.so", "libLLVM-22.so.1", "libLLVM.so.21.1", "libLLVM-21.so",   "libLLVM-21.so.1",
    "libLLVM.so.20.1", "libLLVM-20.so", "libLLVM.so.19.1", "libLLVM-19.so",   "libLLVM-19.so.1", "libLLVM.so",
};

static bool fail(char *error, size_t bytes, const char *format, const char *what)
{
    if (error && bytes)
        snprintf(error, bytes, format, what);
    return false;
}

static void *open_library(void)
{
    for (size_t k = 0; k < sizeof library_names / sizeof *library_names; k++) {
        void *library = dlopen(library_names[k], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

static void open_context(Disassembler *d)
{
    d->context = d->create("amdgcn-amd-amdhsa", d->arch, d->features, NULL, 0, NULL, NULL);
}

static bool start(Disassembler *d, const char *arch, u32 wave_size, char *error, size_t error_bytes)
{
    d->library = open_library();
    if (!d->library)
        return fail(error, error_bytes, "no LLVM library (libLLVM.so.21.1 or the like) can be loaded%s", "");
    static const char *const initialisers[] = {
        "LLVMInitializeAMDGPUTargetInfo", "LLVMInitializeAMDGPUTarget", "LLVMInitializeAMDGPUTargetMC",
        "LLVMInitializeAMDGPUDisassembler",
    };
    for (size_t k = 0; k < sizeof initialisers / sizeof *initialisers; k++) {
        void (*initialise)(void) = (void (*)(void))dlsym(d->library, initialisers[k]);
        if (!initialise)
            return fail(error, error_bytes, "the LLVM library lacks %s", initialisers[k]);
        initialise();
    }
    d->create = (void *(*)(const char *, const char *, const char *, void *, int, void *, void *))dlsym(
        d->library, "LLVMCreateDisasmCPUFeatures");
    d->instruction = (size_t (*)(void *, u8 *, u64, u64, char *, size_t))dlsym(d->library, "LLVMDisasmInstruction");
    d->dispose = (void (*)(void *))dlsym(d->library, "LLVMDisasmDispose");
    if (!d->create || !d->instruction || !d->dispose)
        return fail(error, error_bytes, "the LLVM library lacks %s", "LLVMCreateDisasmCPUFeatures");
    snprintf(d->arch, sizeof d->arch, "%s", arch);
    /* With "real-true16" the text names halves of registers, however the compiler treated them. */
    d->features = strncmp(arch, "gfx9", 4) == 0 ? "" : wave_size == 32 ? "+wavefrontsize32,+real-true16"
                                                                      : "+wavefrontsize64,+real-true16";
    open_context(d);
    return d->context || fail(error, error_bytes, "the LLVM library does not know %s", arch);
}

Disassembler *disassembler_open(const char *arch, u32 wave_size, char *error, size_t error_bytes)
{
    Disassembler *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    crash_recovery_begin(&d->recovery);
    if (start(d, arch, wave_size, error, error_bytes))
        return d;
    disassembler_close(d);
    return NULL;
}

void disassembler_close(Disassembler *d)
{
    if (!d)
        return;
    if (d->context)
        d->dispose(d->context);
    crash_recovery_end(&d->recovery);
    free(d); /* the library stays: LLVM does not survive being unloaded */
}

typedef struct { Disassembler *d; u8 *code; u64 bytes, address; char *text; size_t text_bytes, size; } Question;

static void put_question(void *question)
{
    Question *q = question;
    q->size = q->d->instruction(q->d->context, q->code, q->bytes, q->address, q->text, q->text_bytes);
}

/*
 * LLVM crashes on some words that no compiler makes. Such words are not instructions, and the next words get a new context.
 * As each crash leaks one, bytes with very many of them are taken for no code at all.
 */
enum { MOST_CRASHES = 1000 };

static size_t ask_llvm(Disassembler *d, u8 *code, u64 bytes, u64 address, char *text, size_t text_bytes)
{
    Question q = {.d = d, .code = code, .bytes = bytes, .address = address, .text = text, .text_bytes = text_bytes};
    if (!d->context || d->crashes > MOST_CRASHES)
        return 0;
    if (crash_recovery_survives(put_question, &q))
        return q.size;
    *text = 0;
    d->crashes++;
    open_context(d);
    return 0;
}

/*
 * LLVM holds v_cmpx in the VOP3 encoding for "potentially undefined", and its C interface then gives nothing at all.
 * The same words without the bit that says "and EXEC" are the v_cmp, whose text lacks one letter.
 */
static size_t disassemble_cmpx(Disassembler *d, const u8 *code, u64 bytes, u64 address, char *text, size_t text_bytes)
{
    enum { VOP3 = 0x34, OPCODE = 16, CLASSES = 0x10 }; /* of a class test the lowest bit of the opcode says it, else bit 4 */
    u32 word[2], opcode;
    if (bytes < sizeof word || text_bytes < 2)
        return 0;
    memcpy(word, code, sizeof word);
    opcode = word[0] >> OPCODE & 0x3ff;
    u32 and_exec = (opcode & ~7u) == CLASSES ? 1 : 0x10;
    if (word[0] >> 26 != VOP3 || opcode > 0xff || !(opcode & and_exec))
        return 0;
    word[0] &= ~(and_exec << OPCODE);
    size_t n = ask_llvm(d, (u8 *)word, sizeof word, address, text, text_bytes - 1);
    char *at = n ? strstr(text, "v_cmp_") : NULL;
    if (!at)
        return 0;
    at += strlen("v_cmp");
    memmove(at + 1, at, strlen(at) + 1);
    *at = 'x';
    return n;
}

/* `code` has at least 16 bytes. */
static size_t disassemble_whole(Disassembler *d, u8 *code, u64 bytes, u64 address, char *text, size_t text_bytes)
{
    size_t n = ask_llvm(d, code, bytes, address, text, text_bytes);
    return n ? n : disassemble_cmpx(d, code, bytes, address, text, text_bytes);
}

/* LLVM reads freed memory where a literal is cut off by the end of the section: the last dwords get company. */
size_t disassembler_read(Disassembler *d, u8 *code, u64 bytes, u64 address, char *text, size_t text_bytes)
{
    enum { LONGEST = 16 };
    u8 padded[2 * LONGEST] = {0};
    if (bytes >= LONGEST)
        return disassemble_whole(d, code, bytes, address, text, text_bytes);
    memcpy(padded, code, bytes);
    size_t n = disassemble_whole(d, padded, sizeof padded, address, text, text_bytes);
    return n <= bytes ? n : 0;
}
