/*
 * Containers of code objects: "__CLANG_OFFLOAD_BUNDLE__" and its compressed form "CCOB".
 * Source: clang documentation, "Clang Offload Bundler", "Bundled Code Object Layout" and "Compressed Offload Bundle".
 */
#include "hip/code/bundle.h"

#include "hip/code/target.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "__CLANG_OFFLOAD_BUNDLE__"
enum { MAGIC_BYTES = sizeof MAGIC - 1 };

/* Called for each entry of a bundle, with its triple, which is not terminated, and its file. */
typedef void Entry(void *context, const char *triple, size_t length, const u8 *elf, size_t bytes);

typedef struct {
    const char *device;
    const u8 *elf;
    size_t elf_bytes;
    bool exact;     /* not one for a generic processor */
    char seen[256]; /* for the message when there is none */
} Search;

/* An entry for the device's own architecture is better than a generic one, which may lie before it. */
static void consider(void *context, const char *triple, size_t length, const u8 *elf, size_t bytes)
{
    Search *s = context;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), triple);
    const char *target = target_of_triple(name);
    if (!target)
        return;
    size_t used = strlen(s->seen);
    snprintf(s->seen + used, sizeof s->seen - used, "%s%s", used ? ", " : "", target);
    Target t = {0};
    snprintf(t.name, sizeof t.name, "%s", target);
    bool exact = !strstr(target, "-generic");
    if (bytes && target_fits(&t, s->device) && (!s->elf || (exact && !s->exact))) {
        s->elf = elf;
        s->elf_bytes = bytes;
        s->exact = exact;
    }
}

static bool walk(const u8 *file, size_t bytes, Entry *entry_is, void *context)
{
    u64 count, at = MAGIC_BYTES + sizeof count;
    if (bytes < at || memcmp(file, MAGIC, MAGIC_BYTES))
        return false;
    memcpy(&count, file + MAGIC_BYTES, sizeof count);
    for (u64 i = 0; i < count && i < 256; i++) {
        u64 entry[3]; /* offset, size, length of the triple */
        if (bytes - at < sizeof entry)
            return false;
        memcpy(entry, file + at, sizeof entry);
        at += sizeof entry;
        if (entry[2] > bytes - at || entry[0] > bytes || entry[1] > bytes - entry[0])
            return false;
        entry_is(context, (const char *)file + at, entry[2], file + entry[0], entry[1]);
        at += entry[2];
    }
    return true;
}

/* clang requires these libraries, so the image has them, but not their headers. */
static void *symbol_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, name) : NULL;
}

static bool inflate_zlib(u8 *out, size_t out_bytes, const u8 *in, size_t in_bytes)
{
    int (*uncompress)(u8 *, unsigned long *, const u8 *, unsigned long);
    *(void **)&uncompress = symbol_of("libz.so.1", "uncompress");
    unsigned long length = out_bytes;
    return uncompress && uncompress(out, &length, in, in_bytes) == 0 && length == out_bytes;
}

static bool inflate_zstd(u8 *out, size_t out_bytes, const u8 *in, size_t in_bytes)
{
    size_t (*decompress)(void *, size_t, const void *, size_t);
    *(void **)&decompress = symbol_of("libzstd.so.1", "ZSTD_decompress");
    return decompress && decompress(out, out_bytes, in, in_bytes) == out_bytes;
}

/* Version 2: u32 magic, u16 version, u16 method, u32 file size, u32 inflated size, u64 hash; 3 has u64 sizes. */
static u8 *inflate_bundle(const u8 *file, size_t bytes, size_t *inflated)
{
    enum { ZLIB = 0, ZSTD = 1, LARGEST = 1 << 30 };
    u16 version, method;
    if (bytes < 32)
        return NULL;
    memcpy(&version, file + 4, 2);
    memcpy(&method, file + 6, 2);
    u64 total = 0, out_bytes = 0, header = version == 2 ? 24 : 32;
    size_t width = version == 2 ? 4 : 8;
    memcpy(&total, file + 8, width);
    memcpy(&out_bytes, file + 8 + width, width);
    if ((version != 2 && version != 3) || out_bytes > LARGEST || total <= header || total > bytes)
        return NULL;
    u8 *out = malloc(out_bytes + 1);
    bool done = out && (method == ZSTD   ? inflate_zstd(out, out_bytes, file + header, total - header)
                        : method == ZLIB ? inflate_zlib(out, out_bytes, file + header, total - header)
                                         : false);
    if (!done) {
        free(out);
        return NULL;
    }
    *inflated = out_bytes;
    return out;
}

hipError_t bundle_find(const u8 *file, size_t bytes, const char *device, const u8 **elf, size_t *elf_bytes, void **owned,
                       char *why, size_t why_bytes)
{
    *owned = NULL;
    if (bytes >= 4 && !memcmp(file, "\177ELF", 4)) {
        *elf = file;
        *elf_bytes = bytes;
        return hipSuccess;
    }
    if (bytes >= 4 && !memcmp(file, "CCOB", 4)) {
        size_t inflated = 0;
        *owned = inflate_bundle(file, bytes, &inflated);
        if (!*owned) {
            snprintf(why, why_bytes, "the compressed bundle cannot be inflated");
            return hipErrorInvalidImage;
        }
        file = *owned;
        bytes = inflated;
    }
    Search s = {.device = device};
    if (!walk(file, bytes, consider, &s)) {
        snprintf(why, why_bytes, "the image is neither an ELF file nor an offload bundle");
        return hipErrorInvalidImage;
    }
    if (!s.elf) {
        snprintf(why, why_bytes, "the image has code for %s, but the device is a %s", s.seen, device);
        return hipErrorNoBinaryForGpu;
    }
    *elf = s.elf;
    *elf_bytes = s.elf_bytes;
    return hipSuccess;
}

typedef struct { void (*visit)(const u8 *elf, u64 size, void *context); void *context; } Visitor;

static void pass_on(void *context, const char *triple, size_t length, const u8 *elf, size_t bytes)
{
    const Visitor *v = context;
    (void)triple;
    (void)length;
    v->visit(elf, bytes, v->context);
}

bool bundle_each(const u8 *file, u64 bytes, void (*visit)(const u8 *elf, u64 size, void *context), void *context)
{
    Visitor v = {visit, context};
    if (bytes < 4 || memcmp(file, "CCOB", 4))
        return walk(file, bytes, pass_on, &v);
    size_t inflated = 0;
    u8 *plain = inflate_bundle(file, bytes, &inflated);
    bool done = plain && walk(plain, inflated, pass_on, &v);
    free(plain);
    return done;
}
