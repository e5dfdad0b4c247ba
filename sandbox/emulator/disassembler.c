#include "disassembler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct Disassembler {
    void *library, *context;
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

static bool start(Disassembler *d, const char *arch, char *error, size_t error_bytes)
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
    void *(*create)(const char *, const char *, const char *, void *, int, void *, void *) =
        (void *(*)(const char *, const char *, const char *, void *, int, void *, void *))dlsym(
            d->library, "LLVMCreateDisasmCPUFeatures");
    d->instruction = (size_t (*)(void *, u8 *, u64, u64, char *, size_t))dlsym(d->library, "LLVMDisasmInstruction");
    d->dispose = (void (*)(void *))dlsym(d->library, "LLVMDisasmDispose");
    if (!create || !d->instruction || !d->dispose)
        return fail(error, error_bytes, "the LLVM library lacks %s", "LLVMCreateDisasmCPUFeatures");
    d->context = create("amdgcn-amd-amdhsa", arch, "", NULL, 0, NULL, NULL);
    return d->context || fail(error, error_bytes, "the LLVM library does not know %s", arch);
}

Disassembler *disassembler_open(const char *arch, char *error, size_t error_bytes)
{
    Disassembler *d = calloc(1, sizeof *d);
    if (d && start(d, arch, error, error_bytes))
        return d;
    disassembler_close(d);
    return NULL;
}

void disassembler_close(Disassembler *d)
{
    if (d && d->context)
        d->dispose(d->context);
    free(d); /* the library stays: LLVM does not survive being unloaded */
}

size_t disassemble(Disassembler *d, u8 *code, u64 bytes, u64 address, char *text, size_t text_bytes)
{
    return d->instruction(d->context, code, bytes, address, text, text_bytes);
}
