/*
 * Memory that processes share. A block that is shared moves to an anonymous file, at its own address; who opens it maps
 * the same file, so what kernels of either process store there, those of the other load, as on one GPU.
 *
 * A handle names the process that made the memory and its file, and is good while that process lives and keeps the block.
 */
#include "hip/memory/ipc.h"

#include "hip/memory/allocation.h"
#include "hip/runtime/answer.h"
#include "hip/streams/queue.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };
static const u64 magic = 0x636970656d64616bull;

typedef struct {
    u64 magic, inode; /* of the file: its number may have been given to another one since */
    i32 process, file;
    u64 bytes, start, offset; /* of the block; of its first byte in the file; of the pointer in the block */
} Handle;
_Static_assert(sizeof(Handle) <= sizeof(hipIpcMemHandle_t), "it goes into HIP's handle");

/* A block of ours that was shared. */
typedef struct Shared {
    u64 address, bytes;
    int file;
    struct Shared *next;
} Shared;

/* One of another process. */
typedef struct Opened {
    Handle handle;
    char *pages;
    u64 page_bytes;
    u32 count; /* times that it was opened and not closed yet */
    struct Opened *next;
} Opened;

static Shared *shared;
static Opened *opened;

static u64 first_page(u64 address) { return address / PAGE * PAGE; }
static u64 page_bytes_of(u64 address, u64 bytes) { return (address + bytes + PAGE - 1) / PAGE * PAGE - first_page(address); }

/* ---- sharing: no two blocks have a page in common ---- */

/* The file takes the pages' place with all that is in them; nothing runs meanwhile. -1: there is no room. */
static int move_to_file(u64 address, u64 bytes)
{
    void *pages = (void *)(uintptr_t)first_page(address);
    u64 size = page_bytes_of(address, bytes), done = 0;
    int file = memfd_create("shared device memory", MFD_CLOEXEC);
    while (file >= 0 && done < size) {
        ssize_t n = write(file, (const char *)pages + done, size - done);
        if (n <= 0)
            break;
        done += (u64)n;
    }
    if (file >= 0 && done == size && mmap(pages, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static void block_ended(u64 address, u64 bytes)
{
    (void)bytes;
    for (Shared **link = &shared; *link; link = &(*link)->next) {
        Shared *s = *link;
        if (s->address != address)
            continue;
        mmap((void *)(uintptr_t)first_page(address), page_bytes_of(address, s->bytes), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        close(s->file);
        *link = s->next;
        free(s);
        return;
    }
}

static Shared *share(const Allocation *a)
{
    for (Shared *s = shared; s; s = s->next)
        if (s->address == a->address)
            return s;
    Shared *s = malloc(sizeof *s);
    int file = s ? move_to_file(a->address, a->bytes) : -1;
    if (file < 0) {
        free(s);
        return NULL;
    }
    allocation_on_end(block_ended);
    memory_set_unset(runtime()->memory, a->address, a->bytes, false); /* another process may set it */
    *s = (Shared){a->address, a->bytes, file, shared};
    return shared = s;
}

hipError_t ipc_export(void *pointer, void *out)
{
    Allocation a;
    struct stat file;
    queue_wait_all();
    runtime_lock();
    bool ours = allocation_find(pointer, &a) && a.kind == ALLOCATION_DEVICE;
    const Shared *s = ours ? share(&a) : NULL;
    runtime_unlock();
    if (!s || fstat(s->file, &file))
        return ours ? hipErrorOutOfMemory : hipErrorInvalidValue;
    const Handle h = {.magic = magic, .inode = file.st_ino, .process = getpid(), .file = s->file, .bytes = a.bytes,
                      .start = a.address % PAGE, .offset = (u64)(uintptr_t)pointer - a.address};
    memset(out, 0, sizeof(hipIpcMemHandle_t));
    memcpy(out, &h, sizeof h);
    return hipSuccess;
}

/* ---- opening ---- */

static bool same_block(const Handle *a, const Handle *b) { return a->process == b->process && a->inode == b->inode; }

static int open_file(const Handle *h)
{
    char path[64];
    struct stat known;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->process, h->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    bool right = file >= 0 && !fstat(file, &known) && known.st_ino == h->inode &&
                 (u64)known.st_size == page_bytes_of(h->start, h->bytes);
    if (file >= 0 && !right)
        close(file);
    return right ? file : -1;
}

static hipError_t map(const Handle *h, Opened **out)
{
    int file = open_file(h);
    if (file < 0)
        return hipErrorInvalidValue; /* its process has ended, or freed it */
    u64 size = page_bytes_of(h->start, h->bytes);
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    Opened *o = malloc(sizeof *o);
    bool mapped = pages != MAP_FAILED;
    if (o && mapped && allocation_adopt(pages + h->start, h->bytes, ALLOCATION_MAPPED, 0) == hipSuccess) {
        *o = (Opened){.handle = *h, .pages = pages, .page_bytes = size, .next = opened};
        *out = opened = o;
        return hipSuccess;
    }
    if (mapped)
        munmap(pages, size);
    free(o);
    return hipErrorOutOfMemory;
}

hipError_t ipc_import(const void *handle, void **pointer)
{
    Handle h;
    hipError_t error = hipSuccess;
    memcpy(&h, handle, sizeof h);
    if (h.magic != magic || h.start >= PAGE || h.offset >= h.bytes)
        return hipErrorInvalidValue;
    if (h.process == getpid())
        return hipErrorInvalidContext;
    runtime_lock();
    Opened *o = opened;
    while (o && !same_block(&o->handle, &h))
        o = o->next;
    if (!o)
        error = map(&h, &o);
    if (error == hipSuccess) {
        o->count++;
        *pointer = o->pages + h.start + h.offset;
    }
    runtime_unlock();
    return error;
}

bool ipc_close(void *pointer)
{
    u64 address = (u64)(uintptr_t)pointer;
    queue_wait_all();
    runtime_lock();
    Opened **link = &opened;
    while (*link && address - (u64)(uintptr_t)(*link)->pages >= (*link)->page_bytes)
        link = &(*link)->next;
    Opened *o = *link;
    if (o && !--o->count) {
        *link = o->next;
        allocation_end(o->pages + o->handle.start);
        munmap(o->pages, o->page_bytes);
        free(o);
    }
    runtime_unlock();
    return o != NULL;
}

/* ---- what programs call ---- */

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *pointer)
{
    return answer(handle && pointer ? ipc_export(pointer, handle) : hipErrorInvalidValue);
}

hipError_t hipIpcOpenMemHandle(void **pointer, hipIpcMemHandle_t handle, unsigned flags)
{
    bool known = pointer && flags <= hipIpcMemLazyEnablePeerAccess;
    return answer(known ? ipc_import(&handle, pointer) : hipErrorInvalidValue);
}

hipError_t hipIpcCloseMemHandle(void *pointer)
{
    return answer(pointer && ipc_close(pointer) ? hipSuccess : hipErrorInvalidValue);
}
