/*
 * Copies. A device address is a host address, so a copy is a memmove, after a check that its part in device memory is in
 * one live block. (A copy out of bounds is an error here; AMD's runtime may accept it if the pages are mapped.)
 */
#include "hip/copies/copy.h"

#include "hip/memory/range.h"
#include "hip/report/call_report.h"
#include "hip/runtime/fault.h"
#include "hip/work/work_races.h"

#include <string.h>

hipError_t copy_check(const CopyWork *w)
{
    hipMemcpyKind kind = w->kind;
    if (kind > hipMemcpyDefault && kind != hipMemcpyDeviceToDeviceNoCU)
        return hipErrorInvalidMemcpyDirection;
    if (!w->to || !w->from)
        return hipErrorInvalidValue;
    bool device = kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDeviceToDeviceNoCU;
    hipError_t error = range_check(w->to, w->bytes, device || kind == hipMemcpyHostToDevice);
    if (error != hipSuccess) {
        report_bad_range("copy", w->to, w->bytes, true);
        return error;
    }
    error = range_check(w->from, w->bytes, device || kind == hipMemcpyDeviceToHost);
    if (error != hipSuccess)
        report_bad_range("copy", w->from, w->bytes, false);
    return error;
}

hipError_t copy_run(const CopyWork *w)
{
    hipError_t error = fault_latched();
    if (error != hipSuccess || w->bytes == 0)
        return error;
    error = copy_check(w);
    if (error == hipSuccess) {
        work_races_touch("copy", w->from, w->bytes, false);
        work_races_touch("copy", w->to, w->bytes, true);
        memmove(w->to, w->from, w->bytes);
        memory_copy_unset(runtime()->memory, (u64)(uintptr_t)w->to, (u64)(uintptr_t)w->from, w->bytes);
    }
    return error;
}
