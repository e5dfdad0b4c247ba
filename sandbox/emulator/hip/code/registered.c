/*
 * What a hipcc-built program registers before main: its fat binary, with kernels and variables; and the calls of `<<<>>>`.
 * Source: clang, "HIP Support", and CGCUDANV.cpp (the calls that it emits).
 */
#include "hip/code/registered.h"

#include "hip/memory/allocation.h"
#include "hip/runtime/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct FatBinary {
    const void *bundle;
    CodeObject *objects[MAX_DEVICES]; /* one for each device, NULL until something in it is used there */
    hipError_t error;   /* why it cannot be loaded */
    struct FatBinary *next;
} FatBinary;

typedef struct Registered {
    FatBinary *binary;
    const void *host; /* the stub of a kernel, or the host's variable */
    char *name;       /* mangled */
    Function *functions[MAX_DEVICES];
    void *managed;    /* the address of a managed variable; NULL for others */
    bool is_variable;
    struct Registered *next;
} Registered;

static FatBinary *binaries;
static Registered *registered;

/* __CudaFatBinaryWrapper of clang */
typedef struct {
    u32 magic, version;
    const void *bundle;
    void *unused;
} Wrapper;
enum { WRAPPER_MAGIC = 0x48495046 }; /* "HIPF" */

void **__hipRegisterFatBinary(const void *data)
{
    const Wrapper *w = data;
    FatBinary *b = calloc(1, sizeof *b);
    if (!b || !w || w->magic != WRAPPER_MAGIC) {
        fprintf(stderr, "amdkernel emulator: the program's fat binary is not a HIP fat binary\n");
        exit(1);
    }
    b->bundle = w->bundle;
    runtime_lock();
    b->next = binaries;
    binaries = b;
    runtime_unlock();
    return (void **)b;
}

void __hipUnregisterFatBinary(void **module)
{
    (void)module; /* called at exit, in an unknown order: the end of the process frees everything */
}

static Registered *add(void **module, const void *host, const char *name, bool is_variable)
{
    Registered *r = calloc(1, sizeof *r);
    char *copy = strdup(name);
    if (!r || !copy)
        abort();
    *r = (Registered){.binary = (FatBinary *)module, .host = host, .name = copy, .is_variable = is_variable};
    runtime_lock();
    r->next = registered;
    registered = r;
    runtime_unlock();
    return r;
}

void __hipRegisterFunction(void **module, const void *host, char *device_function, const char *name, unsigned limit,
                           void *tid, void *bid, void *block, void *grid, int *size)
{
    (void)device_function, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
    add(module, host, name, false);
}

void __hipRegisterVar(void **module, void *host, char *host_name, char *name, int ext, size_t bytes, int constant,
                      int global)
{
    (void)host_name, (void)ext, (void)bytes, (void)constant, (void)global;
    add(module, host, name, true);
}

/* From then on the host code reads `*pointer`; the device's variable `name` is a pointer with the same value. */
void __hipRegisterManagedVar(void **module, void **pointer, void *initial, const char *name, size_t bytes,
                             unsigned alignment)
{
    (void)alignment;
    Registered *r = add(module, pointer, name, true);
    if (allocation_new(&r->managed, bytes, ALLOCATION_MANAGED, hipMemAttachGlobal) != hipSuccess)
        abort();
    memcpy(r->managed, initial, bytes);
    *pointer = r->managed;
}

void __hipRegisterTexture(void **module, void *host, char *host_name, char *name, int type, int normalised, int ext)
{
    (void)module, (void)host, (void)host_name, (void)name, (void)type, (void)normalised, (void)ext;
}

void __hipRegisterSurface(void **module, void *host, char *host_name, char *name, int type, int ext)
{
    (void)module, (void)host, (void)host_name, (void)name, (void)type, (void)ext;
}

static void point_managed_variables(const FatBinary *b, const CodeObject *object)
{
    for (const Registered *r = registered; r; r = r->next) {
        const Symbol *s = r->binary == b && r->managed ? code_object_symbol(object, r->name) : NULL;
        if (s && s->bytes == sizeof r->managed)
            memcpy((void *)(uintptr_t)s->address, &r->managed, sizeof r->managed);
    }
}

static CodeObject *object_of(FatBinary *b, hipError_t *error)
{
    CodeObject **object = &b->objects[runtime_device()];
    if (!*object && b->error == hipSuccess) {
        char why[256] = "";
        b->error = code_object_load(b->bundle, SIZE_MAX, object, why, sizeof why);
        if (b->error != hipSuccess)
            fprintf(stderr, "amdkernel emulator: %s\n", why);
        else
            point_managed_variables(b, *object);
    }
    *error = b->error;
    return *object;
}

static Registered *find(const void *host, bool is_variable)
{
    Registered *r = registered;
    while (r && (r->host != host || r->is_variable != is_variable))
        r = r->next;
    return r;
}

Function *registered_function(const void *host, hipError_t *error)
{
    Function *function = NULL;
    runtime_lock();
    Registered *r = find(host, false);
    *error = r ? hipSuccess : hipErrorInvalidDeviceFunction;
    Function **mine = r ? &r->functions[runtime_device()] : NULL;
    if (r && !*mine) {
        CodeObject *object = object_of(r->binary, error);
        if (object)
            *error = function_make(object, r->name, mine);
        if (*error == hipErrorNotFound)
            *error = hipErrorInvalidDeviceFunction;
    }
    if (r)
        function = *mine;
    runtime_unlock();
    return function;
}

static hipError_t variable(const void *host, void **address, size_t *bytes)
{
    hipError_t error = hipErrorInvalidSymbol;
    runtime_lock();
    const Registered *r = find(host, true);
    CodeObject *object = r ? object_of(r->binary, &error) : NULL;
    const Symbol *s = object ? code_object_symbol(object, r->name) : NULL;
    if (s) {
        Allocation managed;
        bool is_managed = r->managed && allocation_find(r->managed, &managed);
        *address = is_managed ? r->managed : (void *)(uintptr_t)s->address;
        *bytes = is_managed ? managed.bytes : s->bytes;
        error = hipSuccess;
    } else if (object) {
        error = hipErrorInvalidSymbol;
    }
    runtime_unlock();
    return error;
}

hipError_t registered_range(const void *symbol, size_t bytes, size_t offset, void **address)
{
    void *start;
    size_t room;
    hipError_t error = variable(symbol, &start, &room);
    if (error == hipSuccess && (offset > room || bytes > room - offset))
        error = hipErrorInvalidValue;
    *address = error == hipSuccess ? (char *)start + offset : NULL;
    return error;
}

hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
    size_t bytes;
    return answer(address ? variable(symbol, address, &bytes) : hipErrorInvalidValue);
}

hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol)
{
    void *address;
    return answer(bytes ? variable(symbol, &address, bytes) : hipErrorInvalidValue);
}

static _Thread_local struct {
    dim3 grid, block;
    size_t lds_bytes;
    hipStream_t stream;
} configuration; /* of the `<<<>>>` whose arguments are being evaluated */

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds_bytes, hipStream_t stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.lds_bytes = lds_bytes;
    configuration.stream = stream;
    return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds_bytes, hipStream_t *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *lds_bytes = configuration.lds_bytes;
    *stream = configuration.stream;
    return hipSuccess;
}

hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *host)
{
    hipError_t error;
    if (!function)
        return answer(hipErrorInvalidValue);
    *function = (hipFunction_t)registered_function(host, &error);
    return answer(*function ? hipSuccess : error);
}
