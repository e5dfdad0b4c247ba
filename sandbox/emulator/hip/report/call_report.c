/*
 * The program's own calls: copies, fills and releases that leave a block, touch one that was freed, or race with work of
 * another stream.
 */
#include "hip/report/call_report.h"

#include "hip/report/output.h"
#include "hip/report/program_calls.h"
#include "hip/report/region.h"
#include "hip/report/work_label.h"

#include <inttypes.h>

static void write_call(FILE *out, const char *what, const char *kind, u64 address, const Block *block, u64 bytes, bool store,
                       const Overlapping *other)
{
    fprintf(out, "{\"call\":\"%s\",\"kind\":\"%s\",\"store\":%s", what, kind, store ? "true" : "false");
    report_region(out, block);
    fprintf(out, ",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"at\":%" PRIu64 ",\"partner\":",
            address - block->address, bytes, report_program_call());
    if (other)
        report_work_label(out, other->label, other);
    else
        fputs("null", out);
    fputs("}\n", out);
}

void report_call(const char *what, const char *kind, u64 address, u64 bytes, bool store, const Overlapping *other)
{
    Block block;
    FILE *out = NULL;
    if (!runtime()->options.check_memory || !runtime()->report_path ||
        !memory_nearest(runtime()->memory, address, &block) || address - block.address >= block.bytes)
        return;
    runtime_lock();
    const WorkLabel *label = other ? other->label : NULL;
    if (label && label->object)
        report_variable(label->object, address, &block);
    if ((out = report_open())) {
        write_call(out, what, kind, address, &block, bytes, store, other);
        fclose(out);
        if (other)
            report_work_object(other->label);
    }
    runtime_unlock();
}

void report_bad_range(const char *what, const void *pointer, u64 bytes, bool store)
{
    Block block;
    u64 address = (u64)(uintptr_t)pointer;
    if (!memory_nearest(runtime()->memory, address, &block) || address - block.address >= block.bytes)
        return;
    if (!block.live || bytes > block.address + block.bytes - address)
        report_call(what, block.live ? "out_of_bounds" : "use_after_free", address, bytes, store, NULL);
}
