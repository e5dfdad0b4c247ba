#include "hip/work/run.h"

#include "hip/clock/clock.h"
#include "hip/copies/copy.h"
#include "hip/copies/copy_2d_3d.h"
#include "hip/copies/fill.h"
#include "hip/memory/allocation.h"
#include "hip/runtime/fault.h"
#include "hip/work/values.h"
#include "hip/work/work_races.h"

static hipError_t release_block(void *pointer)
{
    Allocation a;
    if (allocation_find(pointer, &a))
        work_races_touch("release", pointer, a.bytes, true);
    return allocation_end(pointer) ? hipSuccess : hipErrorInvalidValue;
}

static u64 bytes_moved(const Work *w)
{
    switch (w->kind) {
    case WORK_COPY: return w->copy.bytes;
    case WORK_FILL: return w->fill.element_bytes * w->fill.width * w->fill.height * w->fill.depth;
    case WORK_COPY_2D_3D: return w->copy_2d_3d.width * w->copy_2d_3d.height * w->copy_2d_3d.depth;
    default: return 0;
    }
}

hipError_t run_work(const Work *w, hipStream_t stream)
{
    u64 bytes = bytes_moved(w);
    if (bytes && clock_is_simulated())
        clock_copy(bytes);
    switch (w->kind) {
    case WORK_EMPTY: case WORK_ALLOCATE: case WORK_RELEASE: case WORK_WAIT: case WORK_RECORD: case WORK_WAIT_VALUE:
        return hipSuccess; /* reaching its turn is all that it does */
    case WORK_KERNEL: case WORK_GRAPH: case WORK_VALUES: return hipErrorUnknown;
    case WORK_COPY: return copy_run(&w->copy);
    case WORK_COPY_2D_3D: return copy_2d_3d_run(&w->copy_2d_3d);
    case WORK_FILL: return fill_run(&w->fill);
    case WORK_HOST: w->host.fn(w->host.userData); return hipSuccess;
    case WORK_CALLBACK: w->callback.call(stream, fault_latched(), w->callback.data); return hipSuccess;
    case WORK_FREE: return release_block(w->released);
    case WORK_WRITE_VALUE: return values_write(&w->value);
    }
    return hipErrorUnknown;
}
