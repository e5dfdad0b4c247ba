#include "hip/work/values.h"

bool values_is_reached(const ValueWork *w)
{
    u64 now = w->bytes == 8 ? __atomic_load_n((const u64 *)w->address, __ATOMIC_ACQUIRE)
                            : __atomic_load_n((const u32 *)w->address, __ATOMIC_ACQUIRE);
    now &= w->mask;
    switch (w->condition) {
    case hipStreamWaitValueGte: return w->bytes == 8 ? (i64)(now - w->value) >= 0 : (i32)((u32)now - (u32)w->value) >= 0;
    case hipStreamWaitValueEq: return now == w->value;
    case hipStreamWaitValueAnd: return (now & w->value) != 0;
    default: return ~(now | w->value) != 0; /* hipStreamWaitValueNor */
    }
}

hipError_t values_write(const ValueWork *w)
{
    if (w->bytes == 8)
        __atomic_store_n((u64 *)w->address, w->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((u32 *)w->address, (u32)w->value, __ATOMIC_RELEASE);
    return hipSuccess;
}

bool values_item(const hipStreamBatchMemOpParams *p, Work *out)
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
        bool acts = values_item(&list[i], &w);
        if (!known && !acts)
            return hipErrorInvalidValue;
        if (acts && (!w.value.address || (u64)(uintptr_t)w.value.address % w.value.bytes ||
                     w.value.condition > hipStreamWaitValueNor))
            return hipErrorInvalidValue;
    }
    return hipSuccess;
}
