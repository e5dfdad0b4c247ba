/*
 * libFuzzer's entry point: untrusted bytes go to the loader, to the coverage report, and as machine code to decoder and wave.
 * The first byte chooses: bits 0-2 the architecture, bits 3-4 what the rest is. FUZZ_ONLY=files or FUZZ_ONLY=code in the
 * environment leaves the other one out.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "coverage/images.h"
#include "hip/launch/launch.h"

enum { LOADER, REPORT }; /* else machine code */
enum { CODE_ROOM = 4096, DATA_BYTES = 65536, STEPS = 512 };

static const char *const archs[] = {"gfx942", "gfx90a", "gfx950", "gfx1100", "gfx1201", "gfx942", "gfx90a", "gfx950"};

static void load(const u8 *bytes, size_t size, const char *arch)
{
    CodeObject *object = NULL;
    char why[256];
    Runtime *r = runtime();
    strcpy(r->options.arch, arch);
    if (code_object_load(bytes, size, &object, why, sizeof why) == hipSuccess)
        code_object_unload(object);
}

static void look_at_code(const Code *code, void *context)
{
    u64 *sum = context;
    for (u64 k = 0; k < code->size; k++)
        *sum += code->bytes[k];
}
static void look_at_image(const Image *image, void *context)
{
    u64 *sum = context;
    image_each_code(image, look_at_code, sum);
    *sum += strlen(image_function(image, 4096)) + strlen(image->arch);
}

/* One wave over the code, with scalar pairs that point into a block, so that memory instructions get somewhere. */
static void run(const u8 *bytes, size_t size, const char *arch)
{
    static u64 code, data;
    Memory *m = runtime()->memory;
    char error[256];
    if (!code) {
        code = memory_allocate(m, CODE_ROOM);
        data = memory_allocate(m, DATA_BYTES);
        memory_track_unset(m);
    }
    if (size > CODE_ROOM)
        size = CODE_ROOM;
    memset((void *)code, 0, CODE_ROOM);
    memcpy((void *)code, bytes, size);
    memset((void *)data, 0x11, DATA_BYTES);
    memory_set_unset(m, data, DATA_BYTES, false);
    memory_set_unset(m, data + DATA_BYTES / 2, DATA_BYTES / 4, true);
    Program *p = program_decode(arch, 0, code, size, error, sizeof error);
    if (!p)
        return;
    enum { KERNARG = 8, DISPATCH = 2 };
    Dispatch d = {.program = p, .kernel = {.entry = code, .lds_bytes = 1024, .scratch_bytes = 256, .rsrc1 = 0xff << 12 | 63,
                  .rsrc2 = 4 << 1 | 7 << 7, .rsrc3 = 31, .properties = KERNARG | DISPATCH}, .workgroups = {1, 1, 1},
                  .block = {96, 1, 1}, .grid = {96, 1, 1}, .kernarg = data, .dispatch_packet = data + 4096,
                  .step_limit = STEPS, .threads = 1, .deterministic = true, .count_memory = size & 1,
                  .check_memory = size & 2, .check_races = size & 4, .last_waves_first = size & 8};
    Outcome out;
    DispatchRun *run = dispatch_begin(m, &d);
    if (!run)
        return;
    dispatch_continue(run, -1);
    dispatch_end(run, &out);
    free(out.pcs);
    free(out.findings);
    program_destroy(p);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    setenv("AMDKERNEL_EMULATOR_OPTIONS", "arena_mb=64,threads=1", 1);
    return 0;
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
    if (!size)
        return 0;
    const char *arch = archs[bytes[0] & 7], *only = getenv("FUZZ_ONLY");
    int kind = bytes[0] >> 3 & 3;
    bool is_code = kind != LOADER && kind != REPORT;
    u64 sum = 0;
    if (only && strcmp(only, is_code ? "code" : "files") != 0)
        return -1; /* not for the corpus */
    if (is_code)
        run(bytes + 1, size - 1, arch);
    else if (kind == LOADER)
        load(bytes + 1, size - 1, arch);
    else
        images_each(bytes + 1, size - 1, look_at_image, &sum);
    return 0;
}
