/* Values in memory that streams wait for and write, one by one and in lists. */
#include "hip/streams/stream.h"

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

/* ---- lists: each of its items begins when the one before it is done ---- */

bool value_work(const hipStreamBatchMemOpParams *p, Work *out)
{
    void *awaited = (void *)p->waitValue.address, *written = (void *)p->writeValue.address;
    u32 condition = p->waitValue.flags;
    switch (p->operation) {
    case hipStreamMemOpWaitValue32:
        *out = (Work){.kind = WORK_WAIT_VALUE, .value = {awaited, p->waitValue.value, ~0u, 4, condition}};
        return true;
    case hipStreamMemOpWaitValue64:
        *out = (Work){.kind = WORK_WAIT_VALUE, .value = {awaited, p->waitValue.value64, ~0ull, 8, condition}};
        return true;
    case hipStreamMemOpWriteValue32:
        *out = (Work){.kind = WORK_WRITE_VALUE, .value = {written, p->writeValue.value, ~0u, 4, 0}};
        return true;
    case hipStreamMemOpWriteValue64:
        *out = (Work){.kind = WORK_WRITE_VALUE, .value = {written, p->writeValue.value64, ~0ull, 8, 0}};
        return true;
    default: return false; /* barriers and flushes: work is in order and seen at once */
    }
}

hipError_t values_check(const hipStreamBatchMemOpParams *list, u32 count)
{
    enum { MOST = 256 };
    Work w;
    if (!list || !count || count > MOST)
        return hipErrorInvalidValue;
    for (u32 i = 0; i < count; i++) {
        bool known = list[i].operation == hipStreamMemOpBarrier || list[i].operation == hipStreamMemOpFlushRemoteWrites;
        bool acts = value_work(&list[i], &w);
        if (!known && !acts)
            return hipErrorInvalidValue;
        if (acts && (!w.value.address || (u64)(uintptr_t)w.value.address % w.value.bytes ||
                     w.value.condition > hipStreamWaitValueNor))
            return hipErrorInvalidValue;
    }
    return hipSuccess;
}

hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams *list, unsigned flags)
{
    hipError_t error = flags ? hipErrorInvalidValue : values_check(list, count);
    const Work w = {.kind = WORK_VALUES, .values = {list, count}};
    return answer(error == hipSuccess ? stream_submit(stream, &w) : error);
}
