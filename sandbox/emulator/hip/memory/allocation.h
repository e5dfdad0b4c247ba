/* Blocks that the program allocated. Code objects and launch records are in the arena too, but not in this list. */
#ifndef AMDKERNEL_HIP_ALLOCATION_H
#define AMDKERNEL_HIP_ALLOCATION_H

#include "hip/runtime/runtime.h"

typedef enum { ALLOCATION_DEVICE, ALLOCATION_HOST, ALLOCATION_MANAGED, ALLOCATION_REGISTERED, ALLOCATION_MAPPED } AllocationKind;

/* What hipMemAdvise and hipMemPrefetchAsync set for a page. */
typedef struct {
    u8 preferred, prefetched; /* PLACE_OF(ordinal), NO_PLACE */
    u32 accessed_by;          /* a bit for each device */
    bool read_mostly, coarse;
} Advice;
enum { NO_PLACE = 0 };
#define PLACE_OF(ordinal) ((u8)((ordinal) + 2)) /* the host is hipCpuDeviceId, -1 */

typedef struct {
    u64 address, bytes;
    AllocationKind kind;
    u32 flags;
    int device;       /* which was current */
    u64 id;           /* hipPointerGetAttribute's buffer id */
    void *pool;       /* hipMemPool_t; NULL: none */
    Advice advice, *page_advice; /* of all pages; or of each page, if not NULL */
} Allocation;

/* hipSuccess and *pointer, NULL for 0 bytes; hipErrorInvalidValue, hipErrorOutOfMemory. */
hipError_t allocation_new(void **pointer, size_t bytes, AllocationKind kind, u32 flags);
/* Forget a block that begins at `pointer`, of whatever kind; false when there is none. */
bool allocation_end(void *pointer);
/* Calls `listener` from now on, with the lock of the runtime, when a block has ended. Registering twice is once. */
typedef void AllocationEnded(u64 address, u64 bytes);
void allocation_on_end(AllocationEnded *listener);
/* The block that holds `pointer`, by value. */
bool allocation_find(const void *pointer, Allocation *out);
/* The block itself, or NULL. The caller holds the lock of the runtime. */
Allocation *allocation_locked(const void *pointer);
/* The bytes in use of a device; and a change of them by hipMemCreate, whose memory is not a block. */
u64 allocation_in_use(int device);
void allocation_count(int device, i64 bytes);
/* The bytes in use of those that came from a pool. */
u64 allocation_in_pool(const void *pool);
/* Make memory outside the arena visible to kernels: the program's own, or what is mapped to reserved addresses; hipErrorHostMemoryAlreadyRegistered. */
hipError_t allocation_adopt(void *host, size_t bytes, AllocationKind kind, u32 flags);
void allocation_set_pool(const void *pointer, void *pool);

#endif
