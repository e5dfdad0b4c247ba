/* The calls that wait for values in memory and write them, one by one and in lists. */
#include "hip/runtime/answer.h"
#include "hip/streams/submit.h"
#include "hip/work/values.h"

static hipError_t submit_value(hipStream_t stream, WorkKind kind, ValueWork value)
{
    if (!value.address || (u64)(uintptr_t)value.address % value.bytes)
        return answer(hipErrorInvalidValue);
    const Work w = {.kind = kind, .value = value};
    return answer(stream_submit(stream, &w));
}

hipError_t hipStreamWaitValue32(hipStream_t stream, void *address, u32 value, unsigned condition, u32 mask)
{
    if (condition > hipStreamWaitValueNor)
        return answer(hipErrorInvalidValue);
    return submit_value(stream, WORK_WAIT_VALUE, (ValueWork){address, value, mask, 4, condition});
}

hipError_t hipStreamWaitValue64(hipStream_t stream, void *address, u64 value, unsigned condition, u64 mask)
{
    if (condition > hipStreamWaitValueNor)
        return answer(hipErrorInvalidValue);
    return submit_value(stream, WORK_WAIT_VALUE, (ValueWork){address, value, mask, 8, condition});
}

hipError_t hipStreamWriteValue32(hipStream_t stream, void *address, u32 value, unsigned flags)
{
    (void)flags;
    return submit_value(stream, WORK_WRITE_VALUE, (ValueWork){address, value, ~0u, 4, 0});
}

hipError_t hipStreamWriteValue64(hipStream_t stream, void *address, u64 value, unsigned flags)
{
    (void)flags;
    return submit_value(stream, WORK_WRITE_VALUE, (ValueWork){address, value, ~0ull, 8, 0});
}

/* Each item begins when the one before it is done. */

hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams *list, unsigned flags)
{
    hipError_t error = flags ? hipErrorInvalidValue : values_check(list, count);
    const Work w = {.kind = WORK_VALUES, .values = {list, count}};
    return answer(error == hipSuccess ? stream_submit(stream, &w) : error);
}
