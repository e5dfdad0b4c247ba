/*
 * Where in the program its calls of this library are: the first frames on the stack that are its own. The calls that
 * allocated a block are kept by the block's number.
 */
#define _GNU_SOURCE
#include "hip/report/program_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { DEPTH_OF_CALLS = 4 }; /* at -O0 HIP's header has calls of its own between the program and the library */

static const void *base_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

typedef struct { u64 from[DEPTH_OF_CALLS]; } Calls; /* return addresses in the program's file, then 0 */

/* The program's call and its callers; none: another thread or a library called. */
static Calls calls_in_program(void)
{
    enum { DEEPEST = 32 };
    Calls calls = {{0}};
    void *frame[DEEPEST];
    const void *ours = base_of((const void *)(uintptr_t)calls_in_program);
    const void *program = base_of((const void *)getauxval(AT_PHDR));
    int count = backtrace(frame, DEEPEST), k = 0;
    while (k < count && base_of(frame[k]) == ours)
        k++;
    bool moved = program && ((const Elf64_Ehdr *)program)->e_type == ET_DYN;
    for (int n = 0; n < DEPTH_OF_CALLS && program && k < count && base_of(frame[k]) == program; n++, k++)
        calls.from[n] = (u64)(uintptr_t)frame[k] - (moved ? (u64)(uintptr_t)program : 0);
    return calls;
}

/* By the number of a block: the calls that allocated it. */
static Calls *allocated_at;
static u32 allocated_at_room;
static pthread_mutex_t allocated_at_lock = PTHREAD_MUTEX_INITIALIZER;

static bool make_room_for(u32 number)
{
    if (number < allocated_at_room)
        return true;
    u32 room = 2 * number + 64;
    Calls *more = realloc(allocated_at, room * sizeof *more);
    if (!more)
        return false;
    memset(more + allocated_at_room, 0, (room - allocated_at_room) * sizeof *more);
    allocated_at = more;
    allocated_at_room = room;
    return true;
}

void report_note_allocation(u64 address)
{
    Block block;
    if (!runtime()->report_path || !memory_nearest(runtime()->memory, address, &block))
        return;
    Calls calls = calls_in_program();
    pthread_mutex_lock(&allocated_at_lock);
    if (make_room_for(block.number))
        allocated_at[block.number] = calls;
    pthread_mutex_unlock(&allocated_at_lock);
}

void report_allocation_calls(FILE *out, u32 number)
{
    pthread_mutex_lock(&allocated_at_lock);
    Calls calls = number < allocated_at_room ? allocated_at[number] : (Calls){{0}};
    pthread_mutex_unlock(&allocated_at_lock);
    fputs(",\"made_at\":[", out);
    for (int n = 0; n < DEPTH_OF_CALLS && calls.from[n]; n++)
        fprintf(out, "%s%" PRIu64, n ? "," : "", calls.from[n]);
    fputc(']', out);
}

u64 report_program_call(void) { return calls_in_program().from[0]; }
