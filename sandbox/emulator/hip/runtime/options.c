/* Reads AMDKERNEL_EMULATOR_OPTIONS. An unknown key is reported on stderr and otherwise ignored. */
#include "hip/runtime/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_option(Options *o, const char *key, const char *value)
{
    u64 number = strtoull(value, NULL, 0);
    if (!strcmp(key, "step_limit"))
        o->step_limit = number;
    else if (!strcmp(key, "end_at_ms"))
        o->end_at_ms = number;
    else if (!strcmp(key, "arena_mb"))
        o->arena_bytes = number << 20;
    else if (!strcmp(key, "layout_seed"))
        o->layout_seed = number;
    else if (!strcmp(key, "devices"))
        o->devices = number < 1 ? 1 : number > MAX_DEVICES ? MAX_DEVICES : (int)number;
    else if (!strcmp(key, "threads"))
        o->threads = (u32)number;
    else if (!strcmp(key, "memory"))
        o->count_memory = number != 0;
    else if (!strcmp(key, "pcs"))
        o->count_pcs = number != 0;
    else if (!strcmp(key, "ran"))
        o->list_ran = number != 0;
    else if (!strcmp(key, "kept_launches"))
        o->kept_launches = number;
    else if (!strcmp(key, "deterministic"))
        o->deterministic = number != 0;
    else if (!strcmp(key, "reproducible"))
        o->reproducible = number != 0;
    else if (!strcmp(key, "residency"))
        o->limit_residency = number != 0;
    else if (!strcmp(key, "standstill"))
        o->proves_hangs = number != 0;
    else if (!strcmp(key, "races_every"))
        o->races_every = number;
    else if (!strcmp(key, "races_seed"))
        o->races_seed = number;
    else if (!strcmp(key, "check"))
        o->check_memory = number != 0;
    else if (!strcmp(key, "overruns"))
        o->overruns = number != 0;
    else if (!strcmp(key, "interpreted"))
        o->interpreted = number != 0;
    else if (!strcmp(key, "part_above"))
        o->part_above = number;
    else if (!strcmp(key, "sample_above"))
        o->sample_above = number;
    else if (!strcmp(key, "races"))
        o->check_races = number != 0;
    else if (!strcmp(key, "last_waves_first"))
        o->last_waves_first = number != 0;
    else if (!strcmp(key, "schedule_seed"))
        o->schedule_seed = number;
    else if (!strcmp(key, "clock"))
        o->simulated_clock = !strcmp(value, "simulated");
    else if (!strcmp(key, "clock_seed"))
        o->clock_seed = number;
    else if (!strcmp(key, "clock_scale"))
        o->clock_scale = number;
    else if (!strcmp(key, "arch"))
        snprintf(o->arch, sizeof o->arch, "%s", value);
    else
        fprintf(stderr, "amdkernel emulator: AMDKERNEL_EMULATOR_OPTIONS has no option `%s`\n", key);
}

void options_read(Options *o, const char *text)
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
