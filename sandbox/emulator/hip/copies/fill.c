#include "hip/copies/fill.h"

#include "hip/memory/range.h"
#include "hip/report/call_report.h"
#include "hip/runtime/fault.h"
#include "hip/work/work_races.h"

#include <string.h>

static hipError_t fill_row(char *to, u32 value, size_t element_bytes, size_t count)
{
    size_t bytes;
    if (__builtin_mul_overflow(element_bytes, count, &bytes))
        return hipErrorInvalidValue;
    hipError_t error = range_check(to, bytes, true);
    if (error != hipSuccess) {
        report_bad_range("fill", to, bytes, true);
        return error;
    }
    work_races_touch("fill", to, bytes, true);
    memory_set_unset(runtime()->memory, (u64)(uintptr_t)to, bytes, false);
    if (element_bytes == 1)
        memset(to, (int)(value & 0xff), count);
    for (size_t i = 0; element_bytes > 1 && i < count; i++)
        memcpy(to + i * element_bytes, &value, element_bytes); /* little-endian: the low bytes come first */
    return hipSuccess;
}

hipError_t fill_run(const FillWork *w)
{
    hipError_t error = fault_latched();
    if (error != hipSuccess || !w->width || !w->height || !w->depth)
        return error;
    if (!w->to)
        return hipErrorInvalidValue;
    for (size_t z = 0; z < w->depth && error == hipSuccess; z++)
        for (size_t y = 0; y < w->height && error == hipSuccess; y++)
            error = fill_row((char *)w->to + z * w->slice_bytes + y * w->pitch, w->value, w->element_bytes, w->width);
    return error;
}

hipError_t fill_from_parameters(const hipMemsetParams *p, FillWork *out)
{
    bool known = p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4;
    if (!p->dst || !known || !p->width || !p->height || (p->height > 1 && p->pitch < p->width * p->elementSize))
        return hipErrorInvalidValue;
    *out = (FillWork){.to = p->dst, .value = p->value, .element_bytes = p->elementSize, .width = p->width,
                      .height = p->height, .depth = 1, .pitch = p->pitch};
    return hipSuccess;
}
