/* The calls that ask about memory: its size, and what a pointer points to. */
#include "hip/memory/allocation.h"
#include "hip/memory/range.h"
#include "hip/runtime/answer.h"

#include <string.h>

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (!free_bytes || !total)
        return answer(hipErrorInvalidValue);
    *total = runtime()->options.arena_bytes;
    *free_bytes = *total - allocation_in_use(runtime_device());
    return hipSuccess;
}

hipError_t hipMemPtrGetInfo(void *pointer, size_t *bytes)
{
    Allocation a;
    if (!pointer || !bytes || !allocation_find(pointer, &a))
        return answer(hipErrorInvalidValue);
    *bytes = a.bytes;
    return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t pointer)
{
    Allocation a;
    if (!allocation_find(pointer, &a))
        return answer(hipErrorNotFound);
    if (base)
        *base = (hipDeviceptr_t)(uintptr_t)a.address;
    if (bytes)
        *bytes = a.bytes;
    return hipSuccess;
}

static hipMemoryType memory_type(const Allocation *a)
{
    switch (a->kind) {
    case ALLOCATION_DEVICE: case ALLOCATION_MAPPED: return hipMemoryTypeDevice;
    case ALLOCATION_MANAGED: return hipMemoryTypeManaged;
    default: return hipMemoryTypeHost;
    }
}

/* Variables are in code objects, which are not in the list of allocations. */
static bool is_variable(const void *pointer, Allocation *as)
{
    if (range_is_pageable(pointer))
        return false;
    *as = (Allocation){.address = (u64)(uintptr_t)pointer, .bytes = 1, .kind = ALLOCATION_DEVICE, .device = runtime_device()};
    return true;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer)
{
    Allocation a;
    if (!attributes || !pointer)
        return answer(hipErrorInvalidValue);
    *attributes = (hipPointerAttribute_t){.type = hipMemoryTypeUnregistered, .device = -2};
    if (!allocation_find(pointer, &a) && !is_variable(pointer, &a))
        return hipSuccess;
    attributes->type = memory_type(&a);
    attributes->device = a.device;
    attributes->devicePointer = (void *)(uintptr_t)pointer;
    attributes->hostPointer = a.kind == ALLOCATION_DEVICE ? NULL : (void *)(uintptr_t)pointer;
    attributes->isManaged = a.kind == ALLOCATION_MANAGED;
    attributes->allocationFlags = a.flags;
    return hipSuccess;
}

/* Writes one attribute to `out`, whose type depends on it. */
static hipError_t attribute(void *out, hipPointer_attribute which, const Allocation *a, void *pointer)
{
    switch (which) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT: return hipErrorNotSupported;
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)out = (unsigned)memory_type(a); return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: *(void **)out = pointer; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)out = a->kind == ALLOCATION_DEVICE ? NULL : pointer;
        return a->kind == ALLOCATION_DEVICE ? hipErrorInvalidValue : hipSuccess;
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)out = 1; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)out = a->id; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)out = a->kind == ALLOCATION_MANAGED; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = a->device; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(void **)out = (void *)(uintptr_t)a->address; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)out = a->bytes; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)out = 1; return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(void **)out = a->pool; return hipSuccess;
    default: return hipErrorInvalidValue;
    }
}

hipError_t hipPointerGetAttribute(void *out, hipPointer_attribute which, hipDeviceptr_t pointer)
{
    Allocation a;
    if (!out || !pointer || !allocation_find(pointer, &a))
        return answer(hipErrorInvalidValue);
    return answer(attribute(out, which, &a, pointer));
}

/* Attributes that a pointer does not have are not written. */
hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *which, void **out, hipDeviceptr_t pointer)
{
    Allocation a;
    if (!count || !which || !out || !pointer)
        return answer(hipErrorInvalidValue);
    bool known = allocation_find(pointer, &a);
    for (unsigned i = 0; known && i < count; i++)
        attribute(out[i], which[i], &a, pointer);
    return hipSuccess;
}

hipError_t hipPointerSetAttribute(const void *value, hipPointer_attribute which, hipDeviceptr_t pointer)
{
    Allocation a;
    bool known = value && which == HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS && allocation_find(pointer, &a);
    return answer(known ? hipSuccess : hipErrorInvalidValue); /* copies are synchronous in any case */
}
