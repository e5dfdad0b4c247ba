#include "hip/memory/range.h"

hipError_t range_check(const void *pointer, size_t bytes, bool must_be_device)
{
    u64 address = (u64)(uintptr_t)pointer;
    if (memory_in_block(runtime()->memory, address, bytes))
        return hipSuccess;
    return must_be_device || memory_in_block(runtime()->memory, address, 1) ? hipErrorInvalidValue : hipSuccess;
}

bool range_is_pageable(const void *pointer) { return !memory_in_block(runtime()->memory, (u64)(uintptr_t)pointer, 1); }
