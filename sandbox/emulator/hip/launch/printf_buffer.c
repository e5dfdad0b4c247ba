/*
 * printf of kernels that were compiled with -mprintf-kind=buffered: records in a buffer, printed after the dispatch.
 * Source: LLVM AMDGPUUsage, hidden_printf_buffer; llvm/lib/Transforms/Utils/AMDGPUEmitPrintf.cpp (the records).
 */
#include "hip/launch/printf_buffer.h"

#include "hip/launch/device_printf.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4 << 20 };

/* Kernels reserve `used` bytes of `size` by an atomic add, and write there. */
typedef struct {
    u32 used, size;
    u8 records[];
} Buffer;

u64 printf_buffer(u64 *block)
{
    if (!*block)
        *block = memory_allocate(runtime()->memory, BUFFER_BYTES);
    if (*block) {
        Buffer *buffer = (Buffer *)(uintptr_t)*block;
        buffer->used = 0;
        buffer->size = BUFFER_BYTES - sizeof *buffer;
    }
    return *block;
}

/* The format of "0:0:HASH,FORMAT" whose hash this is; NULL when there is none. */
static const char *format_of(const CodeObject *c, u64 hash)
{
    for (u32 i = 0; i < c->metadata.printf_format_count; i++) {
        const char *at = c->metadata.printf_formats[i];
        for (int colon = 0; at && colon < 2; colon++)
            at = (at = strchr(at, ':')) ? at + 1 : NULL;
        char *end = NULL;
        if (at && strtoull(at, &end, 16) == hash && end && *end == ',')
            return end + 1;
    }
    return NULL;
}

/* A record is a word of 32 bits (bit 0: to stderr; bit 1: a constant format; from bit 2: its bytes), then the values. */
static void print_constant(const CodeObject *c, FILE *out, const u8 *at, size_t bytes)
{
    u64 hash;
    if (bytes < sizeof hash)
        return;
    memcpy(&hash, at, sizeof hash);
    const char *format = format_of(c, hash);
    if (!format) {
        fputs("amdkernel emulator: a kernel prints with a format that its code object does not have\n", stderr);
        return;
    }
    size_t head = strlen(format) / 8 + 1, rest = (bytes - sizeof hash) / 8;
    u64 *words = calloc(head + rest, sizeof *words);
    if (!words)
        return;
    memcpy(words, format, strlen(format));
    memcpy(words + head, at + sizeof hash, rest * 8);
    device_printf(out, words, head + rest);
    free(words);
}

static void print_varying(FILE *out, const u8 *at, size_t bytes)
{
    u64 *words = malloc(bytes + 8);
    if (!words)
        return;
    memcpy(words, at, bytes);
    device_printf(out, words, bytes / 8);
    free(words);
}

void printf_buffer_print(const CodeObject *c, u64 block)
{
    const Buffer *buffer = (const Buffer *)(uintptr_t)block;
    enum { TO_STDERR = 1, CONSTANT = 2, LENGTH_SHIFT = 2 };
    u32 used = buffer ? buffer->used : 0;
    if (buffer && used > buffer->size)
        used = buffer->size;
    for (u32 at = 0; at + 4 <= used;) {
        u32 head;
        memcpy(&head, buffer->records + at, sizeof head);
        u32 bytes = head >> LENGTH_SHIFT;
        if (bytes < sizeof head || bytes > used - at)
            break;
        FILE *out = head & TO_STDERR ? stderr : stdout;
        if (head & CONSTANT)
            print_constant(c, out, buffer->records + at + 4, bytes - 4);
        else
            print_varying(out, buffer->records + at + 4, bytes - 4);
        at += bytes;
    }
}
