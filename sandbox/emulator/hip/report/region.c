#define _GNU_SOURCE /* mincore */
#include "hip/report/region.h"

#include "hip/report/output.h"
#include "hip/report/program_calls.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONGEST_NAME = 512 }; /* of a variable; the rest is left out */

const char *const report_space[] = {
    [SPACE_GLOBAL] = "global", [SPACE_LDS] = "lds", [SPACE_SCRATCH] = "scratch", [SPACE_SCALAR] = "scalar",
    [SPACE_REGISTER] = "register"};

bool report_touches_memory(const Fault *f)
{
    return f->kind == OUTCOME_OUT_OF_BOUNDS || f->kind == OUTCOME_MISALIGNED || f->kind == OUTCOME_READ_ONLY ||
           (f->kind >= OUTCOME_USE_AFTER_FREE && f->kind != OUTCOME_MISSING_WAIT);
}

bool report_is_in_memory(const Fault *f)
{
    return f->space == SPACE_GLOBAL || f->space == SPACE_SCALAR;
}

void report_register(const Fault *f, char *name, size_t bytes)
{
    enum { VCC = 106, FIRST_VECTOR = 256, FIRST_ACCUMULATOR = 512 }; /* as machine/machine.h numbers operands */
    u32 reg = (u32)f->address;
    if (reg >= FIRST_VECTOR)
        snprintf(name, bytes, "%c%u", reg < FIRST_ACCUMULATOR ? 'v' : 'a', reg % 256);
    else
        snprintf(name, bytes, reg < VCC ? "s%u" : "vcc", reg);
}

void report_variable(const CodeObject *c, u64 address, Block *near)
{
    static _Thread_local char quoted[LONGEST_NAME];
    const Symbol *v = code_object_variable(c, address, near->address, near->bytes);
    if (!v)
        return;
    snprintf(quoted, sizeof quoted, "`%.*s`", LONGEST_NAME - 3, v->name);
    *near = (Block){v->address, v->bytes, quoted, near->live, near->number};
}

bool report_nearest(const CodeObject *c, const Dispatch *d, const Fault *f, Block *near)
{
    if (!report_is_in_memory(f) || !memory_nearest(runtime()->memory, f->address, near))
        return false;
    bool hidden = f->kind == OUTCOME_OUT_OF_BOUNDS && d->explicit_bytes;
    if (near->address == d->dispatch_packet && f->address < d->kernarg)
        *near = (Block){d->dispatch_packet, d->kernarg - d->dispatch_packet, REPORT_PACKET, true, near->number};
    else if (near->address == d->dispatch_packet)
        *near = (Block){d->kernarg, hidden ? d->explicit_bytes : d->kernarg_bytes, REPORT_ARGUMENTS, true, near->number};
    else
        report_variable(c, f->address, near);
    return true;
}

void report_region(FILE *out, const Block *near)
{
    char unnamed[32];
    snprintf(unnamed, sizeof unnamed, "allocation %u", near->number);
    fputs(",\"region\":", out);
    report_string(out, near->name && near->name[0] ? near->name : unnamed);
    fprintf(out, ",\"region_bytes\":%" PRIu64, near->bytes);
    report_allocation_calls(out, near->number);
}

bool report_is_host_memory(u64 address)
{
    u64 arena, bytes;
    unsigned char resident;
    memory_arena(runtime()->memory, &arena, &bytes);
    return address - arena >= bytes && mincore((void *)(uintptr_t)(address & ~(u64)(sysconf(_SC_PAGESIZE) - 1)), 1, &resident) == 0;
}
