/* The state of the process: made at first use from the environment, never torn down. */
#include "hip/devices/device.h"

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

static void read_option(Options *o, const char *key, const char *value)
{
    u64 number = strtoull(value, NULL, 0);
    if (!strcmp(key, "step_limit"))
        o->step_limit = number;
    else if (!strcmp(key, "time_limit_ms"))
        o->time_limit_ms = number;
    else if (!strcmp(key, "end_at_ms"))
        o->end_at_ms = number;
    else if (!strcmp(key, "arena_mb"))
        o->arena_bytes = number << 20;
    else if (!strcmp(key, "devices"))
        o->devices = number < 1 ? 1 : number > MAX_DEVICES ? MAX_DEVICES : (int)number;
    else if (!strcmp(key, "threads"))
        o->threads = (u32)number;
    else if (!strcmp(key, "memory"))
        o->count_memory = number != 0;
    else if (!strcmp(key, "pcs"))
        o->count_pcs = number != 0;
    else if (!strcmp(key, "deterministic"))
        o->deterministic = number != 0;
    else if (!strcmp(key, "check"))
        o->check_memory = number != 0;
    else if (!strcmp(key, "overruns"))
        o->overruns = number != 0;
    else if (!strcmp(key, "interpreted"))
        o->interpreted = number != 0;
    else if (!strcmp(key, "races"))
        o->check_races = number != 0;
    else if (!strcmp(key, "last_waves_first"))
        o->last_waves_first = number != 0;
    else if (!strcmp(key, "schedule_seed"))
        o->schedule_seed = number;
    else if (!strcmp(key, "arch"))
        snprintf(o->arch, sizeof o->arch, "%s", value);
    else
        fprintf(stderr, "amdkernel emulator: AMDKERNEL_EMULATOR_OPTIONS has no option `%s`\n", key);
}

static void read_list(Options *o, const char *text)
{
    char *copy = strdup(text ? text : ""), *rest = NULL;
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(item, '=');
        if (equals)
            *equals = 0;
        read_option(o, item, equals ? equals + 1 : "1");
    }
    free(copy);
}

static void start(void)
{
    the_runtime.options = (Options){.arena_bytes = default_arena_bytes, .devices = 1, .arch = "gfx942"};
    read_list(&the_runtime.options, getenv("AMDKERNEL_EMULATOR_OPTIONS"));
    the_runtime.report_path = getenv("AMDKERNEL_EMULATOR_REPORT");
    the_runtime.objects_path = getenv("AMDKERNEL_EMULATOR_OBJECTS");
    the_runtime.memory = memory_create(the_runtime.options.arena_bytes * (u64)the_runtime.options.devices);
    the_runtime.options.devices = visible_devices(the_runtime.options.devices);
    if (the_runtime.options.count_memory)
        the_runtime.caches = caches_create(the_runtime.options.arch);
    if (!the_runtime.memory) {
        fprintf(stderr, "amdkernel emulator: no address space for %llu MiB of device memory (option arena_mb)\n",
                (unsigned long long)(the_runtime.options.arena_bytes >> 20));
        exit(1);
    }
    if (the_runtime.options.check_memory && !memory_track_unset(the_runtime.memory))
        fprintf(stderr, "amdkernel emulator: no address space to tell which memory is set: its use is not checked\n");
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

/* Not HIP's: options of the launches from here on, as in the environment. What shapes the device stays as it began. */
void amdkernelSetOptions(const char *text)
{
    runtime_lock();
    Options *o = &the_runtime.options, was = *o;
    read_list(o, text);
    o->arena_bytes = was.arena_bytes;
    o->devices = was.devices;
    memcpy(o->arch, was.arch, sizeof o->arch);
    runtime_unlock();
}

static _Thread_local int chosen_device;

int current_device(void) { return chosen_device; }
void set_current_device(int ordinal) { chosen_device = ordinal; }
bool is_device(int ordinal) { return ordinal >= 0 && ordinal < runtime()->options.devices; }

hipError_t device_fault(void)
{
    if (!runtime()->options.devices)
        return hipErrorNoDevice;
    return (hipError_t)__atomic_load_n(&runtime()->fault, __ATOMIC_ACQUIRE);
}

void latch_fault(hipError_t error)
{
    int none = hipSuccess;
    __atomic_compare_exchange_n(&runtime()->fault, &none, (int)error, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
