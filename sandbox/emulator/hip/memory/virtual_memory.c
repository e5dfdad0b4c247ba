/*
 * Virtual memory: addresses and memory are allocated separately. Memory is an anonymous file of the host, mapped where the
 * program says; kernels can access a mapping once a device may. All devices get the widest access that one of them has.
 */
#include "hip/memory/allocation.h"
#include "hip/runtime/answer.h"
#include "hip/streams/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANULE = 4096, LARGE_GRANULE = 2 << 20 };

/* hipMemGenericAllocationHandle_t */
typedef struct Physical {
    int file;
    u64 bytes, counted; /* of the device's memory; 0 for memory of another process, which counts it */
    hipMemAllocationProp properties;
    u32 handles, mappings; /* it exists while one of them does */
    struct Physical *next;
} Physical;

typedef struct Mapping {
    u64 address, bytes;
    Physical *memory;
    hipMemAccessFlags access[MAX_DEVICES];
    struct Mapping *next;
} Mapping;

typedef struct Reservation {
    u64 address, bytes;
    struct Reservation *next;
} Reservation;

static Physical *physicals;
static Mapping *mappings;
static Reservation *reservations;

static Physical *physical_of(hipMemGenericAllocationHandle_t handle)
{
    Physical *p = physicals;
    while (p && (void *)p != (void *)handle)
        p = p->next;
    return p;
}

static Mapping *mapping_at(u64 address)
{
    Mapping *m = mappings;
    while (m && address - m->address >= m->bytes)
        m = m->next;
    return m;
}

static bool overlap(u64 a, u64 a_bytes, u64 b, u64 b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

static bool any_mapped(u64 address, u64 bytes)
{
    for (const Mapping *m = mappings; m; m = m->next)
        if (overlap(m->address, m->bytes, address, bytes))
            return true;
    return false;
}

/* Whole mappings fill the range. */
static bool all_mapped(u64 address, u64 bytes)
{
    u64 filled = 0;
    for (const Mapping *m = mappings; m; m = m->next) {
        if (!overlap(m->address, m->bytes, address, bytes))
            continue;
        if (m->address < address || m->address + m->bytes > address + bytes)
            return false;
        filled += m->bytes;
    }
    return filled == bytes;
}

static void forget_unused(Physical *p)
{
    if (p->handles || p->mappings)
        return;
    Physical **link = &physicals;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    allocation_count(p->properties.location.id, -(i64)p->counted);
    close(p->file);
    free(p);
}

/* ---- memory ---- */

static hipError_t check_properties(const hipMemAllocationProp *p)
{
    bool shared = p && p->requestedHandleType == hipMemHandleTypePosixFileDescriptor;
    if (!p || p->type != hipMemAllocationTypePinned || p->location.type != hipMemLocationTypeDevice)
        return hipErrorInvalidValue;
    if (p->requestedHandleType != hipMemHandleTypeNone && !shared)
        return hipErrorNotSupported;
    return runtime_has_device(p->location.id) ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t hipMemGetAllocationGranularity(size_t *granule, const hipMemAllocationProp *p,
                                          hipMemAllocationGranularity_flags which)
{
    hipError_t error = granule ? check_properties(p) : hipErrorInvalidValue;
    if (error == hipSuccess && which > hipMemAllocationGranularityRecommended)
        error = hipErrorInvalidValue;
    if (error == hipSuccess)
        *granule = which == hipMemAllocationGranularityMinimum ? GRANULE : LARGE_GRANULE;
    return answer(error);
}

static hipError_t keep(int file, u64 bytes, u64 counted, const hipMemAllocationProp *p,
                       hipMemGenericAllocationHandle_t *handle)
{
    Physical *made = malloc(sizeof *made);
    if (!made) {
        close(file);
        return hipErrorOutOfMemory;
    }
    *made = (Physical){.file = file, .bytes = bytes, .counted = counted, .properties = *p, .handles = 1};
    allocation_count(p->location.id, (i64)counted);
    runtime_lock();
    made->next = physicals;
    physicals = made;
    runtime_unlock();
    *handle = (hipMemGenericAllocationHandle_t)(void *)made;
    return hipSuccess;
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t bytes, const hipMemAllocationProp *p,
                        unsigned long long flags)
{
    hipError_t error = handle && bytes && bytes % GRANULE == 0 && !flags ? check_properties(p) : hipErrorInvalidValue;
    if (error == hipSuccess && bytes > runtime()->options.arena_bytes - allocation_in_use(p->location.id))
        error = hipErrorOutOfMemory;
    if (error != hipSuccess)
        return answer(error);
    int file = memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes)) {
        if (file >= 0)
            close(file);
        return answer(hipErrorOutOfMemory);
    }
    return answer(keep(file, bytes, bytes, p, handle));
}

hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    runtime_lock();
    Physical *p = physical_of(handle);
    bool known = p && p->handles;
    if (known) {
        p->handles--;
        forget_unused(p);
    }
    runtime_unlock();
    return answer(known ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle, void *address)
{
    runtime_lock();
    const Mapping *m = handle ? mapping_at((u64)(uintptr_t)address) : NULL;
    if (m) {
        m->memory->handles++;
        *handle = (hipMemGenericAllocationHandle_t)(void *)m->memory;
    }
    runtime_unlock();
    return answer(m ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp *out, hipMemGenericAllocationHandle_t handle)
{
    runtime_lock();
    const Physical *p = physical_of(handle);
    if (p && out)
        *out = p->properties;
    runtime_unlock();
    return answer(p && out ? hipSuccess : hipErrorInvalidValue);
}

/* A file descriptor, which the program closes or sends to another process. */
hipError_t hipMemExportToShareableHandle(void *out, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags)
{
    if (!out || flags || type != hipMemHandleTypePosixFileDescriptor)
        return answer(hipErrorInvalidValue);
    runtime_lock();
    const Physical *p = physical_of(handle);
    int file = p && p->properties.requestedHandleType == type ? dup(p->file) : -1;
    runtime_unlock();
    if (file < 0)
        return answer(hipErrorInvalidValue);
    *(int *)out = file;
    return hipSuccess;
}

hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle, void *os_handle,
                                           hipMemAllocationHandleType type)
{
    struct stat known;
    int file = (int)(intptr_t)os_handle;
    if (!handle || type != hipMemHandleTypePosixFileDescriptor || fstat(file, &known) || known.st_size <= 0)
        return answer(hipErrorInvalidValue);
    const hipMemAllocationProp p = {.type = hipMemAllocationTypePinned, .requestedHandleType = type,
                                    .location = {hipMemLocationTypeDevice, runtime_device()}};
    file = dup(file);
    return answer(file < 0 ? hipErrorOutOfMemory : keep(file, (u64)known.st_size, 0, &p, handle));
}

/* ---- addresses ---- */

/* Reserves more for the alignment, and frees what is not needed. */
static void *reserve(size_t bytes, size_t alignment, void *wish)
{
    char *raw = mmap(wish, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    char *first = raw + (alignment - (uintptr_t)raw % alignment) % alignment;
    if (first > raw)
        munmap(raw, (size_t)(first - raw));
    if (raw + alignment > first)
        munmap(first + bytes, (size_t)(raw + alignment - first));
    return first;
}

hipError_t hipMemAddressReserve(void **pointer, size_t bytes, size_t alignment, void *wish, unsigned long long flags)
{
    if (!pointer || !bytes || bytes % GRANULE || alignment & (alignment - 1) || flags)
        return answer(hipErrorInvalidValue);
    Reservation *made = malloc(sizeof *made);
    void *first = made ? reserve(bytes, alignment < GRANULE ? GRANULE : alignment, wish) : NULL;
    if (!first) {
        free(made);
        return answer(hipErrorOutOfMemory);
    }
    runtime_lock();
    *made = (Reservation){.address = (u64)(uintptr_t)first, .bytes = bytes, .next = reservations};
    reservations = made;
    runtime_unlock();
    *pointer = first;
    return hipSuccess;
}

static bool is_reserved(u64 address, u64 bytes)
{
    for (const Reservation *r = reservations; r; r = r->next)
        if (address >= r->address && bytes <= r->bytes && address - r->address <= r->bytes - bytes)
            return true;
    return false;
}

hipError_t hipMemAddressFree(void *pointer, size_t bytes)
{
    u64 address = (u64)(uintptr_t)pointer;
    bool found = false;
    runtime_lock();
    for (Reservation **link = &reservations; *link && !found; link = &(*link)->next) {
        Reservation *r = *link;
        found = r->address == address && r->bytes == bytes && !any_mapped(address, bytes);
        if (!found)
            continue;
        *link = r->next;
        free(r);
        munmap(pointer, bytes);
        break;
    }
    runtime_unlock();
    return answer(found ? hipSuccess : hipErrorInvalidValue);
}

static hipError_t map(u64 address, size_t bytes, size_t offset, Physical *p)
{
    bool fits = p && bytes && bytes % GRANULE == 0 && offset % GRANULE == 0 && offset <= p->bytes && bytes <= p->bytes - offset;
    if (!fits || address % GRANULE || !is_reserved(address, bytes) || any_mapped(address, bytes))
        return hipErrorInvalidValue;
    Mapping *m = calloc(1, sizeof *m);
    if (!m || mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->file,
                   (off_t)offset) == MAP_FAILED) {
        free(m);
        return hipErrorOutOfMemory;
    }
    *m = (Mapping){.address = address, .bytes = bytes, .memory = p, .next = mappings};
    mappings = m;
    p->mappings++;
    return hipSuccess;
}

hipError_t hipMemMap(void *pointer, size_t bytes, size_t offset, hipMemGenericAllocationHandle_t handle,
                     unsigned long long flags)
{
    runtime_lock();
    hipError_t error = flags ? hipErrorInvalidValue : map((u64)(uintptr_t)pointer, bytes, offset, physical_of(handle));
    runtime_unlock();
    return answer(error);
}

static hipMemAccessFlags widest(const Mapping *m)
{
    hipMemAccessFlags most = hipMemAccessFlagsProtNone;
    for (int k = 0; k < MAX_DEVICES; k++)
        most = m->access[k] > most ? m->access[k] : most;
    return most;
}

/* Makes the mapping accessible to kernels and copies, if its access allows. */
static hipError_t show(const Mapping *m, hipMemAccessFlags before)
{
    void *start = (void *)(uintptr_t)m->address;
    hipMemAccessFlags now = widest(m);
    if (now == before)
        return hipSuccess;
    if (before != hipMemAccessFlagsProtNone)
        allocation_end(start);
    if (now == hipMemAccessFlagsProtNone)
        return hipSuccess;
    hipError_t error = allocation_adopt(start, m->bytes, ALLOCATION_MAPPED, 0);
    if (error == hipSuccess && now == hipMemAccessFlagsProtRead)
        memory_describe(runtime()->memory, m->address, m->bytes, "", false);
    return error;
}

hipError_t hipMemUnmap(void *pointer, size_t bytes)
{
    u64 address = (u64)(uintptr_t)pointer;
    queue_wait_all();
    runtime_lock();
    bool known = bytes && all_mapped(address, bytes);
    for (Mapping **link = &mappings; known && *link;) {
        Mapping *m = *link;
        if (!overlap(m->address, m->bytes, address, bytes)) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        if (widest(m) != hipMemAccessFlagsProtNone)
            allocation_end((void *)(uintptr_t)m->address);
        mmap((void *)(uintptr_t)m->address, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        m->memory->mappings--;
        forget_unused(m->memory);
        free(m);
    }
    runtime_unlock();
    return answer(known ? hipSuccess : hipErrorInvalidValue);
}

static hipError_t set_access(Mapping *m, const hipMemAccessDesc *list, size_t count)
{
    hipMemAccessFlags before = widest(m);
    for (size_t i = 0; i < count; i++)
        m->access[list[i].location.id] = list[i].flags;
    return show(m, before);
}

hipError_t hipMemSetAccess(void *pointer, size_t bytes, const hipMemAccessDesc *list, size_t count)
{
    u64 address = (u64)(uintptr_t)pointer;
    hipError_t error = bytes && list && count ? hipSuccess : hipErrorInvalidValue;
    for (size_t i = 0; i < count && error == hipSuccess; i++) {
        hipMemAccessFlags f = list[i].flags;
        bool known = f == hipMemAccessFlagsProtNone || f == hipMemAccessFlagsProtRead || f == hipMemAccessFlagsProtReadWrite;
        if (!known || list[i].location.type != hipMemLocationTypeDevice)
            error = hipErrorInvalidValue;
        else if (!runtime_has_device(list[i].location.id))
            error = hipErrorInvalidDevice;
    }
    runtime_lock();
    if (error == hipSuccess && !all_mapped(address, bytes))
        error = hipErrorInvalidValue;
    for (Mapping *m = mappings; m && error == hipSuccess; m = m->next)
        if (overlap(m->address, m->bytes, address, bytes))
            error = set_access(m, list, count);
    runtime_unlock();
    return answer(error);
}

hipError_t hipMemGetAccess(unsigned long long *flags, const hipMemLocation *location, void *pointer)
{
    bool asked = flags && location && location->type == hipMemLocationTypeDevice && runtime_has_device(location->id);
    runtime_lock();
    const Mapping *m = asked ? mapping_at((u64)(uintptr_t)pointer) : NULL;
    if (m)
        *flags = m->access[location->id];
    runtime_unlock();
    return answer(m ? hipSuccess : hipErrorInvalidValue);
}
