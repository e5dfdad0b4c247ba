/*
 * Loads a code object thousands of times, each time damaged in another way: argv[1] times argv[2]. The file ends at an
 * unmapped page, so that reading past it is a crash. Prints how many were still accepted.
 */
#include "hip/launch/kernarg.h"
#include "hip/runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The parts of the interpreter that the loader calls. */
struct Memory { u8 *arena; u64 bytes; };
Memory *memory_create(u64 bytes, u64 layout_seed)
{
    (void)layout_seed;
    Memory *m = malloc(sizeof *m);
    *m = (Memory){mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), bytes};
    return m;
}
u64 memory_allocate_mapped(Memory *m, u64 bytes, u64 granule) { return granule && bytes < m->bytes ? (u64)m->arena : 0; }
u64 memory_allocate(Memory *m, u64 bytes) { return memory_allocate_mapped(m, bytes, 1); }
bool memory_release(Memory *m, u64 address) { return (u64)m->arena == address; }
bool memory_adopt(Memory *m, u64 address, u64 bytes) { (void)m, (void)address, (void)bytes; return true; }
bool memory_describe(Memory *m, u64 address, u64 bytes, const char *name, bool writable)
{
    (void)name, (void)writable;
    return address >= (u64)m->arena && address + bytes <= (u64)m->arena + m->bytes;
}
bool memory_is_input(Memory *m, u64 address) { (void)m, (void)address; return true; }
bool memory_track_unset(Memory *m) { (void)m; return true; }
void memory_set_unset(Memory *m, u64 address, u64 bytes, bool unset) { (void)m, (void)address, (void)bytes, (void)unset; }
void memory_copy_unset(Memory *m, u64 to, u64 from, u64 bytes) { (void)m, (void)to, (void)from, (void)bytes; }
bool memory_nearest(Memory *m, u64 address, Block *out) { (void)m, (void)address, (void)out; return false; }
bool memory_in_block(Memory *m, u64 address, u64 bytes) { (void)m, (void)address, (void)bytes; return true; }
void program_destroy(Program *p) { (void)p; }
u32 kernel_wave_size(const KernelCode *k) { (void)k; return 64; }

static void damage(u8 *file, size_t bytes)
{
    for (int hits = 1 + rand() % 6; hits > 0; hits--) {
        size_t head = bytes < 0x600 ? bytes : 0x600; /* headers and metadata, mostly */
        size_t at = (size_t)rand() % (rand() % 3 ? head : bytes);
        switch (rand() % 4) {
        case 0: file[at] = (u8)rand(); break;
        case 1: file[at] ^= (u8)(1 << rand() % 8); break;
        case 2: file[at] = 0xff; break;
        default: memset(file + at, 0xff, bytes - at < 8 ? bytes - at : 8);
        }
    }
}

static void use(CodeObject *object)
{
    static u8 value[1 << 16];
    void *parameters[64];
    LaunchShape shape = {.grid = {64, 1, 1}, .block = {64, 1, 1}};
    for (int i = 0; i < 64; i++)
        parameters[i] = value;
    for (u32 k = 0; k < object->metadata.kernel_count; k++) {
        Function *f = NULL;
        const KernelMetadata *kernel = &object->metadata.kernels[k];
        if (function_make(object, kernel->name, &f) != hipSuccess)
            continue;
        if (kernel->argument_count < 64 && kernel->kernarg_bytes < sizeof value) {
            u8 *kernarg = malloc(kernel->kernarg_bytes + 1);
            kernarg_fill(kernarg, kernel, &shape, parameters, NULL, &(HiddenBlocks){0});
            free(kernarg);
        }
        function_end(f);
    }
}

int main(int argc, char **argv)
{
    enum { ROOM = 1 << 20 };
    static u8 whole[ROOM];
    FILE *in = fopen(argv[argc - 1], "rb");
    size_t bytes = fread(whole, 1, sizeof whole, in);
    u8 *room = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(room + ROOM, 4096, PROT_NONE);
    int accepted = 0;
    for (int round = 0; round < atoi(argv[1]); round++) {
        size_t length = round % 10 ? bytes : 1 + (size_t)rand() % bytes; /* one in ten is cut off as well */
        u8 *file = room + ROOM - length;
        char why[256];
        CodeObject *object;
        memcpy(file, whole, length);
        damage(file, length);
        if (code_object_load(file, length, &object, why, sizeof why) != hipSuccess)
            continue;
        accepted++;
        use(object);
        code_object_unload(object);
    }
    printf("%d\n", accepted);
    return 0;
}
