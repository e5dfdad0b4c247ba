/* The state of the process: made from the environment at first use, and never destroyed. */
#include "hip/runtime/runtime.h"

#include "hip/runtime/visible_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Runtime the_runtime;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const u64 default_arena_bytes = 16ull << 30; /* address space only: untouched pages cost nothing */

static void make_lock(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&the_runtime.lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

static void start(void)
{
    the_runtime.options = (Options){.arena_bytes = default_arena_bytes, .devices = 1, .arch = "gfx942"};
    options_read(&the_runtime.options, getenv("AMDKERNEL_EMULATOR_OPTIONS"));
    the_runtime.report_path = getenv("AMDKERNEL_EMULATOR_REPORT");
    the_runtime.objects_path = getenv("AMDKERNEL_EMULATOR_OBJECTS");
    const Options *o = &the_runtime.options;
    the_runtime.memory = memory_create(o->arena_bytes * (u64)o->devices, o->layout_seed);
    the_runtime.clock = o->layout_seed * 0x9e3779b97f4a7c15ull >> 22; /* a GPU that has been on for minutes or hours */
    the_runtime.options.devices = visible_devices_find(the_runtime.options.devices, the_runtime.options.arch);
    if (the_runtime.options.count_memory)
        the_runtime.caches = caches_create(the_runtime.options.arch);
    if (!the_runtime.memory) {
        fprintf(stderr, "amdkernel emulator: no address space for %llu MiB of device memory (option arena_mb)\n",
                (unsigned long long)(the_runtime.options.arena_bytes >> 20));
        exit(1);
    }
    if (the_runtime.options.check_memory && !memory_track_unset(the_runtime.memory))
        fprintf(stderr, "amdkernel emulator: no address space to track uninitialised memory: its use is not checked\n");
    bool tracks = the_runtime.options.check_memory || the_runtime.options.count_memory;
    if (tracks && !memory_track_touched(the_runtime.memory))
        fprintf(stderr, "amdkernel emulator: no address space to track which memory kernels touch\n");
    make_lock();
    pthread_atfork(runtime_lock, runtime_unlock, make_lock);
}

Runtime *runtime(void)
{
    pthread_once(&once, start);
    return &the_runtime;
}

void runtime_lock(void)
{
    pthread_mutex_lock(&runtime()->lock);
}

void runtime_unlock(void)
{
    pthread_mutex_unlock(&runtime()->lock);
}

/* Not part of HIP: sets options for the launches that follow. Those that shape the devices keep their first value. */
void amdkernelSetOptions(const char *text)
{
    runtime_lock();
    Options *o = &the_runtime.options, was = *o;
    options_read(o, text);
    o->arena_bytes = was.arena_bytes;
    o->devices = was.devices;
    memcpy(o->arch, was.arch, sizeof o->arch);
    runtime_unlock();
}

/* Not part of HIP: how many wave-instructions all dispatches that have ended have executed. The same in every run. */
u64 amdkernelInstructions(void)
{
    runtime_lock();
    u64 all = the_runtime.instructions;
    runtime_unlock();
    return all;
}

static _Thread_local int chosen_device;

int runtime_device(void) { return chosen_device; }
void runtime_set_device(int ordinal) { chosen_device = ordinal; }
bool runtime_has_device(int ordinal) { return ordinal >= 0 && ordinal < runtime()->options.devices; }
