#include "hip/report/work_label.h"

#include "hip/report/output.h"

#include <inttypes.h>

const char *report_access(bool load, bool store) { return load ? store ? "update" : "load" : "store"; }

void report_work_label(FILE *out, const void *label, const Overlapping *o)
{
    const WorkLabel *l = label;
    fputs("{\"work\":", out);
    report_string(out, l->name);
    if (l->object_number)
        fprintf(out, ",\"object\":%u", l->object_number);
    fprintf(out, ",\"pc\":%" PRIu64 ",\"workgroup\":[0,0,0],\"wave\":0,\"lane\":0,\"access\":\"%s\",\"atomic\":false}",
            o->code, report_access(o->load, o->store));
}

void report_work_object(const void *label)
{
    const WorkLabel *l = label;
    if (l && l->object)
        report_object(l->object);
}
